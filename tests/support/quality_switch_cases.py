"""Values of switches of the metrics of quality that make a difference to some answer, with such answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, Part
from mmeval.records.sample import Sample, user
from mmeval.records.trial import Trial
from tests.support.mmmg_switch_cases import Effect
from tests.support.shapes import cube, joined, obj, off, plane_cloud, ply, shown, sphere_cloud, tetrahedra, torus
from tests.support.sounds import heard, tone
from tests.support.tiny_media import pdf, picture

TEXT, CODE, DOCUMENT = "text_quality", "code_quality", "document_quality"
OTHER = {"text": "Say it in other words. {{ form }}"}
GRADE = '{"reason": "so", "score": 3}'
DIMENSIONS = '{"reason": "so", "score": 3, "overall": 2, "overall_score": 40, "overall_score_100": 70}'
ELSEWHERE: Mapping[str, set[str]] = {"video_quality": {"model", "seed"}}
"""Switches that matter only to a network, which the tests of their metric make."""
BROKEN_MESH = b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n"


def of_quality() -> Iterator[Effect]:
    yield from _of_judged()
    yield from _of_sounds()
    yield from _of_pictures()
    yield from _of_meshes()
    yield from _of_videos()


def _of_judged() -> Iterator[Effect]:
    answers = {
        TEXT: _answer(Interleaved.from_text("A kettle boils <<image1>>.")),
        CODE: _answer(Interleaved((Part("code", text="print(1)"),))),
        DOCUMENT: _media("document", pdf("Apple 52.1\nPear 57.25")),
    }
    varied = [GRADE, GRADE.replace("3", "5"), GRADE]
    for metric, answer in answers.items():
        yield Effect(metric, "rubric", "overall" if metric == DOCUMENT else "dimensions", [answer], says=DIMENSIONS)
        yield Effect(metric, "repeats", 2, [answer], says=GRADE)
        yield from (Effect(metric, "combine", how, [answer], {"repeats": 3}, varied) for how in ("median", "majority"))
        yield Effect(metric, "prompt", OTHER, [answer], says=GRADE)
        if metric != DOCUMENT:
            yield Effect(metric, "dimensions_prompt", OTHER, [answer], {"rubric": "dimensions"}, DIMENSIONS)
    yield Effect(DOCUMENT, "rubric", "dimensions", [answers[DOCUMENT]], says=DIMENSIONS)
    yield Effect(CODE, "fence", "released", [_answer(Interleaved((Part("code", text="```\nx = 2\n```"),)))], says=GRADE)
    yield Effect(CODE, "unreadable", "unscored", [_answer(Interleaved.from_text("<<code1>>"))], says=GRADE)
    yield Effect(DOCUMENT, "extraction", "pictures", [answers[DOCUMENT]], says=GRADE)
    yield Effect(DOCUMENT, "hints", False, [answers[DOCUMENT]], says=GRADE)
    yield Effect(DOCUMENT, "unreadable", "unscored", [_answer(Interleaved.from_text("<<document1>>"))], says=GRADE)
    yield Effect(DOCUMENT, "ocr", "none", [_media("document", picture(size=(64, 32)))], says=GRADE)


def _of_sounds() -> Iterator[Effect]:
    sounds = [heard(_plucked()), heard(tone(2.0) * np.float32(0.3)), heard(_noise(2.0))]
    yield Effect("audio_quality", "combination", "paper", sounds)
    yield from (Effect("audio_quality", "hpss_margin", margin, sounds) for margin in (1.0, None))
    yield Effect("audio_quality", "apply_b_per", False, sounds, {"hpss_margin": 1.0})
    yield Effect("audio_quality", "final_power", 1.0, sounds)
    yield Effect("audio_quality", "rounding", "released", sounds)
    yield Effect("audio_quality", "unreadable", "unscored", [_media("audio", b"RIFF\x04\0\0\0WAVEx")])


def _of_pictures() -> Iterator[Effect]:
    large = [_media("image", _noisy_picture(300))]
    yield Effect("image_quality", "method", "released", large)
    yield from (Effect("image_quality", "worst", worst, large) for worst in (50.0, 100.0))
    yield Effect("image_quality", "short_side", 256, [_media("image", _noisy_picture(200))])
    yield Effect("image_quality", "unreadable", "unscored", [_media("image", b"\x89PNG\r\n\x1a\n" + bytes(20))])


def _of_meshes() -> Iterator[Effect]:
    whole, seam = [shown(off(torus()))], [shown(obj(_loose(cube())))]
    crossing = [shown(off(joined(cube(), tetrahedra((0.3, 0.3, 0.3)))))]
    clouds = [shown(ply(sphere_cloud(count))) for count in (40, 300)] + [shown(ply(plane_cloud()))]
    values: Mapping[str, tuple[Any, Sequence[Trial]]] = {
        "combination": ("paper", whole),
        "ply": ("cloud", [shown(ply(*torus()))]),
        "merge_vertices": (False, seam),
        "dangling": ("kept", [shown(off(_with_a_stray_point(torus())))]),
        "degenerate": ("kept", [shown(off(_with_a_thin_face(torus())))]),
        "defects": ("dead", crossing),
        "triangles": ("released", whole),
        "angles": ("signed", clouds),
        "neighbours": ("released", [shown(ply(sphere_cloud(count))) for count in (12, 16, 32)]),
        "rounding": ("released", whole),
        "unreadable": ("unscored", [shown(BROKEN_MESH)]),
    }
    yield from (Effect("quality_3d", switch, value, trials) for switch, (value, trials) in values.items())


def _of_videos() -> Iterator[Effect]:
    broken = [_media("video", b"\x00\x00\x00\x20ftypisom" + bytes(60))]
    yield Effect("video_quality", "unreadable", "unscored", broken)


def _answer(content: Interleaved) -> Trial:
    return Trial(Sample("s", (user("What is it?"),)), output=content)


def _media(kind: str, *files: bytes) -> Trial:
    media = {f"{kind}{at}": Media.from_bytes(file) for at, file in enumerate(files, 1)}
    return _answer(Interleaved.from_text(" ".join(f"<<{name}>>" for name in media), media))


def _plucked() -> Any:
    """Chords that die away."""
    fading = np.exp(-5 * np.arange(len(tone(0.3))) / len(tone(1.0))).astype(np.float32)
    chords = [sum(tone(0.3, root * ratio) / np.float32(4) for ratio in (1, 1.5, 2)) for root in (262.0, 330.0, 392.0)]
    return np.concatenate([chord * fading for chord in chords * 2])


def _noise(seconds: float) -> Any:
    return (np.random.default_rng(0).normal(size=len(tone(seconds))) / 8).astype(np.float32)


def _noisy_picture(side: int) -> bytes:
    import io

    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def _loose(mesh: Any) -> Any:
    """Every face with corners of its own, as a seam of texture makes them."""
    points, faces = mesh
    return points[faces].reshape(-1, 3), np.arange(faces.size).reshape(-1, 3)


def _with_a_stray_point(mesh: Any) -> Any:
    points, faces = mesh
    return np.vstack([points, [[9.0, 9.0, 9.0]]]), faces


def _with_a_thin_face(mesh: Any) -> Any:
    points, faces = mesh
    return points, np.vstack([faces, [[0, 0, 1]]])
