"""Damages of growing strength, and the scores of quality under them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, PartKind, media_part
from mmeval.metric.apply import score_one
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.metrics.quality.items import ITEMS
from mmeval.records.sample import Sample, user
from mmeval.records.trial import Trial
from scripts.quality import material
from scripts.quality.material import Mesh

if TYPE_CHECKING:
    from scripts.quality.material import Faces, Floats, Pixels, Samples

SEED = 11
"""The seed of all random numbers: every strength draws the same, and only its size
grows."""
PROFILES = ("standard", "official")


class Study(NamedTuple):
    """One kind of damage to one medium: ``made`` gives the medium for each strength of
    ``steps``, in ``unit``; the first one leaves it unchanged."""

    title: str
    metric: str
    kind: PartKind
    unit: str
    steps: Sequence[float]
    made: Callable[[float], Media]


class Point(NamedTuple):
    """The result of one strength: the quality in each profile (None: none), and the
    terms under ``standard``."""

    step: float
    qualities: Mapping[str, float | None]
    terms: Mapping[str, object]


@cache
def _picture() -> Pixels:
    return material.picture()


def noisy_picture(sigma: float) -> Media:
    """White noise of so many grey levels on every channel."""
    noise = np.random.default_rng(SEED).normal(0, 1, _picture().shape)
    return material.picture_file(_levels(_picture() + sigma * noise))


def blurred_picture(sigma: float) -> Media:
    return material.picture_file(_levels(material.blurred(_picture(), sigma)))


def blocky_picture(loss: float) -> Media:
    """A JPEG of quality ``100 - loss``; without loss a PNG."""
    return material.picture_file(
        _picture(), jpeg_quality=100 - int(loss) if loss else 0
    )


def _levels(values: Floats) -> Pixels:
    return np.asarray(np.clip(np.rint(values), 0, 255), np.uint8)


def noisy_sound(level: float) -> Media:
    """White noise whose power is so many decibels above one that is 80 dB below the
    sound's; without any at 0."""
    samples = material.sound()
    noise = np.random.default_rng(SEED).normal(0, 1, len(samples))
    gain = (
        float(np.sqrt(np.mean(samples**2))) * 10 ** ((level - 80) / 20)
        if level
        else 0.0
    )
    return _heard(samples + gain * noise)


def clipped_sound(decibels: float) -> Media:
    """The sound amplified and clipped."""
    samples = material.sound()
    peak = float(np.abs(samples).max())
    return _heard(
        np.clip(samples / peak * 10 ** (decibels / 20), -1, 1)
        if decibels
        else samples / peak
    )


def gapped_sound(seconds: float) -> Media:
    """Silent for so long in its middle."""
    samples = material.sound().copy()
    middle, half = len(samples) // 2, round(seconds * material.RATE / 2)
    samples[middle - half : middle + half] = 0
    return _heard(samples)


def muffled_sound(octaves: float) -> Media:
    """The sound without frequencies above one that falls by octaves from 24 kHz."""
    spectrum = np.fft.rfft(material.sound())
    hertz = np.fft.rfftfreq(2 * len(spectrum) - 2, 1 / material.RATE)
    return _heard(np.fft.irfft(np.where(hertz <= 24_000 / 2**octaves, spectrum, 0)))


def _heard(samples: Samples | Floats) -> Media:
    return material.sound_file(np.asarray(samples, np.float32))


def rough_mesh(percent: float) -> Media:
    """Each vertex moved at random by so many hundredths of the tube's radius."""
    mesh = material.torus()
    moved = (
        np.random.default_rng(SEED).normal(0, 1, mesh.vertices.shape)
        * material.TUBE[1]
        * percent
        / 100
    )
    return material.mesh_file(Mesh(mesh.vertices + moved, mesh.faces))


def open_mesh(percent: float) -> Media:
    """Without so many hundredths of the faces, all adjacent."""
    mesh = material.torus()
    centres = mesh.vertices[mesh.faces].mean(1)
    nearest = np.argsort(np.linalg.norm(centres - centres[0], axis=1), kind="stable")
    kept = np.sort(nearest[round(len(nearest) * percent / 100) :])
    return material.mesh_file(Mesh(mesh.vertices, mesh.faces[kept]))


def loose_mesh(percent: float) -> Media:
    """With so many hundredths of the faces torn out, each moved by about the tube's
    radius."""
    vertices, faces, torn = _torn(percent)
    moved = np.random.default_rng(SEED + 1).normal(
        0, material.TUBE[1], (len(torn), 1, 3)
    )
    vertices[len(vertices) - 3 * len(torn) :] += np.broadcast_to(
        moved, (len(torn), 3, 3)
    ).reshape(-1, 3)
    return material.mesh_file(Mesh(vertices, faces))


def seamed_mesh(percent: float) -> Media:
    """With so many hundredths of the faces on their own vertices in the same places, as
    in files with textures."""
    vertices, faces, _ = _torn(percent)
    return material.mesh_file(Mesh(vertices, faces))


def _torn(percent: float) -> tuple[Floats, Faces, Faces]:
    """The mesh with so many hundredths of its faces on their own, last vertices, and
    these faces."""
    mesh = material.torus()
    torn = np.random.default_rng(SEED).permutation(len(mesh.faces))[
        : round(len(mesh.faces) * percent / 100)
    ]
    faces = mesh.faces.copy()
    own = mesh.vertices[faces[torn]].reshape(-1, 3)
    faces[torn] = len(mesh.vertices) + np.arange(len(own)).reshape(-1, 3)
    return np.concatenate([mesh.vertices, own]), faces, torn


def rough_cloud(percent: float) -> Media:
    """Each point moved at random by so many hundredths of the tube's radius."""
    points = material.cloud()
    moved = (
        np.random.default_rng(SEED).normal(0, 1, points.shape)
        * material.TUBE[1]
        * percent
        / 100
    )
    return material.cloud_file(points + moved)


def strewn_cloud(percent: float) -> Media:
    """So many hundredths of the points in places drawn from the whole box."""
    points = material.cloud().copy()
    rng = np.random.default_rng(SEED)
    strewn = rng.permutation(len(points))[: round(len(points) * percent / 100)]
    low, high = points.min(0), points.max(0)
    points[strewn] = low + rng.random((len(points), 3))[strewn] * (high - low)
    return material.cloud_file(points)


STUDIES: Mapping[str, Sequence[Study]] = {
    "pictures": (
        Study(
            "noise",
            "image_quality",
            "image",
            "grey levels",
            (0, 5, 10, 20, 40, 80),
            noisy_picture,
        ),
        Study(
            "blur",
            "image_quality",
            "image",
            "pixels",
            (0, 0.5, 1, 2, 4, 8),
            blurred_picture,
        ),
        Study(
            "JPEG",
            "image_quality",
            "image",
            "100 less quality",
            (0, 20, 50, 80, 90, 95),
            blocky_picture,
        ),
    ),
    "sounds": (
        Study(
            "noise",
            "audio_quality",
            "audio",
            "dB, from -80",
            (0, 20, 40, 50, 60, 80),
            noisy_sound,
        ),
        Study(
            "clipping",
            "audio_quality",
            "audio",
            "dB above full scale",
            (0, 3, 6, 12, 18, 24),
            clipped_sound,
        ),
        Study(
            "gap",
            "audio_quality",
            "audio",
            "seconds",
            (0, 0.1, 0.2, 0.5, 1, 2),
            gapped_sound,
        ),
        Study(
            "muffling",
            "audio_quality",
            "audio",
            "octaves below 24 kHz",
            (0, 2, 3, 4, 5, 6),
            muffled_sound,
        ),
    ),
    "meshes": (
        Study(
            "rough surface",
            "quality_3d",
            "3d",
            "% of the tube",
            (0, 1, 2, 5, 10, 20),
            rough_mesh,
        ),
        Study(
            "hole",
            "quality_3d",
            "3d",
            "% of the faces",
            (0, 1, 5, 10, 25, 50),
            open_mesh,
        ),
        Study(
            "loose faces",
            "quality_3d",
            "3d",
            "% of the faces",
            (0, 1, 2, 5, 10, 25),
            loose_mesh,
        ),
        Study(
            "seams",
            "quality_3d",
            "3d",
            "% of the faces",
            (0, 1, 5, 10, 25, 50),
            seamed_mesh,
        ),
    ),
    "clouds": (
        Study(
            "rough surface",
            "quality_3d",
            "3d",
            "% of the tube",
            (0, 1, 2, 5, 10, 20),
            rough_cloud,
        ),
        Study(
            "outliers",
            "quality_3d",
            "3d",
            "% of the points",
            (0, 1, 2, 5, 10, 25),
            strewn_cloud,
        ),
    ),
}
"""The studies, by the part of the page in which they stand."""


def measured(study: Study) -> list[Point]:
    """The quality of the medium at every strength."""
    return [_point(study, step) for step in study.steps]


def _point(study: Study, step: float) -> Point:
    part = media_part(study.made(step), study.kind)
    trial = Trial(Sample("study", (user("?"),)), output=Interleaved((part,)))
    scores = {
        profile: score_one(bind(load_metric(study.metric), profile=profile), trial)[
            study.metric
        ]
        for profile in PROFILES
    }
    (item,) = scores["standard"].evidence[ITEMS]
    return Point(
        step, {profile: score.value for profile, score in scores.items()}, item
    )
