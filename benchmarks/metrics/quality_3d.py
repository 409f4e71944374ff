"""How long the quality of a 3D item takes, as ratios to trimesh, in one thread.

``loading``: a whole file (OFF, OBJ), from bytes to score, against ``trimesh.load`` of
the same bytes. ``checked``: the score of decoded arrays against trimesh making a mesh
of them and dropping what is degenerate (``validate``). ``bare``: against its
constructor, which measures nothing. Two cores: as many files by two processes as by
one, by the time of the processor.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import trimesh

from benchmarks.measuring import Figure, busy, high_water, paired
from mmeval.decode import raw_mesh_arrays
from mmeval.metric.apply import score_one
from mmeval.metric.bound import bind
from mmeval.metrics.three_d.quality_3d import quality_3d
from mmeval.records.trial import Trial
from tests.support.shapes import Mesh, obj, off, ply, shown, torus

PAIRS, FILES = 9, 24
GOAL, BARE_GOAL, CORES_GOAL = 4.0, 10.0, 1.7


def figures(quick: bool) -> Iterator[Figure]:
    def ratio(
        name: str, ours: Callable[[], object], theirs: Callable[[], object], goal: float
    ) -> Figure:
        found = paired(ours, theirs, 2 if quick else PAIRS)
        return Figure(name, found.ratio, goal, note=str(found))

    mesh = shaken(250, 100)
    for kind, data in (("off", off(mesh)), ("obj", obj(mesh))):
        yield ratio(
            f"{kind} of 50,000 faces, loading",
            partial(score_file, data),
            partial(loaded, data, kind),
            GOAL,
        )
    for profile in ("standard", "official"):
        decoded = shown(off(mesh))
        ours = partial(score, decoded, profile)
        raw = raw_mesh_arrays(decoded.output.media("3d")[0])  # type: ignore[union-attr]
        checked = partial(
            trimesh.Trimesh, raw.vertices.copy(), raw.faces.copy(), validate=True
        )
        bare = partial(trimesh.Trimesh, raw.vertices.copy(), raw.faces.copy())
        yield ratio(f"50,000 faces, {profile}, checked", ours, checked, GOAL)
        yield ratio(f"50,000 faces, {profile}, bare", ours, bare, BARE_GOAL)
    cores = by_two_processes([off(mesh)] * FILES)
    yield Figure(
        "two processes to one, files a second of the processor",
        cores,
        CORES_GOAL,
        at_least=True,
    )
    if not quick:
        yield from large()


def loaded(data: bytes, kind: str) -> object:
    return trimesh.load(io.BytesIO(data), file_type=kind)


def by_two_processes(files: Sequence[bytes]) -> float:
    taken = []
    for processes in (1, 2):
        with ProcessPoolExecutor(processes) as pool:
            list(pool.map(score_file, files[: 2 * processes]))
            taken.append(sum(pool.map(seconds_of, files)))
    return 2 * taken[0] / taken[1]


def seconds_of(file: bytes) -> float:
    return busy(partial(score_file, file))


def large() -> Iterator[Figure]:
    """The largest mesh and cloud that are scored: seconds, and how far they raise the
    memory of this process."""
    points = np.random.default_rng(0).normal(size=(500_000, 3))
    for name, data in (
        ("a mesh of 1,000,000 faces", off(torus(1000, 500))),
        ("a cloud of 500,000 points", ply(points)),
    ):
        before = high_water()
        taken = busy(partial(score_file, data))
        yield Figure(
            name, taken, unit=" s", note=f"{high_water() - before:.0f} MiB more"
        )


def score(trial: Trial, profile: str = "standard") -> Any:
    return score_one(bind(quality_3d, {}, profile), trial)


def score_file(data: bytes) -> Any:
    return score(shown(data))


def shaken(rings: int, sides: int) -> Mesh:
    points, faces = torus(rings, sides)
    return points + 0.002 * np.random.default_rng(0).normal(size=points.shape), faces
