"""How long the quality of a 3D item takes, as ratios to trimesh, in one thread.

    python benchmarks/quality_3d.py            # a mesh of 50,000 faces: the figures of docs/performance.md
    python benchmarks/quality_3d.py --large    # and the largest that are scored, with the memory they take

``loading``: a whole file (OFF, OBJ), from bytes to score, against ``trimesh.load`` of the same bytes. ``checked``: the
score of decoded arrays against trimesh making a mesh of them and dropping what is degenerate (``validate``). ``bare``:
against its constructor, which measures nothing. All in turns, after one call of each that is not counted; a ratio is
the median of the paired calls. Two cores: as many files by two processes as by one. Exit code 1 when a figure misses
its goal.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402  found by the line above, in one thread by those before it
import trimesh  # noqa: E402

from benchmarks.figure import Figure  # noqa: E402
from mmeval.decode import raw_mesh_arrays  # noqa: E402
from mmeval.metric.apply import score_one  # noqa: E402
from mmeval.metric.bound import bind  # noqa: E402
from mmeval.metrics.three_d.quality_3d import quality_3d  # noqa: E402
from mmeval.records.trial import Trial  # noqa: E402
from tests.support.shapes import Mesh, obj, off, ply, shown, torus  # noqa: E402

PAIRS, FILES = 9, 24
GOAL, BARE_GOAL, CORES_GOAL = 4.0, 10.0, 1.7


def figures() -> Iterator[Figure]:
    mesh = shaken(250, 100)
    for kind, data in (("off", off(mesh)), ("obj", obj(mesh))):
        yield ratio(f"{kind} of 50,000 faces, loading", partial(score_file, data), partial(loaded, data, kind), GOAL)
    for profile in ("standard", "official"):
        decoded = shown(off(mesh))
        ours = partial(score, decoded, profile)
        raw = raw_mesh_arrays(decoded.output.media("3d")[0])  # type: ignore[union-attr]
        checked = partial(trimesh.Trimesh, raw.vertices.copy(), raw.faces.copy(), validate=True)
        bare = partial(trimesh.Trimesh, raw.vertices.copy(), raw.faces.copy())
        yield ratio(f"50,000 faces, {profile}, checked", ours, checked, GOAL)
        yield ratio(f"50,000 faces, {profile}, bare", ours, bare, BARE_GOAL)
    yield Figure(
        "two processes to one, files in a second", by_two_processes([off(mesh)] * FILES), CORES_GOAL, at_least=True
    )


def loaded(data: bytes, kind: str) -> object:
    return trimesh.load(io.BytesIO(data), file_type=kind)


def ratio(name: str, ours: Callable[[], object], theirs: Callable[[], object], goal: float) -> Figure:
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(PAIRS)]
    mine, yours = (1000 * statistics.median(found) for found in zip(*pairs, strict=True))
    return Figure(
        f"{name} ({mine:.0f} ms to {yours:.0f} ms)", statistics.median(one / other for one, other in pairs), goal
    )


def by_two_processes(files: Sequence[bytes]) -> float:
    taken = []
    for processes in (1, 2):
        with ProcessPoolExecutor(processes) as pool:
            list(pool.map(score_file, files[: 2 * processes]))
            taken.append(seconds(partial(scored_by, pool, files)))
    return taken[0] / taken[1]


def scored_by(pool: ProcessPoolExecutor, files: Sequence[bytes]) -> object:
    return list(pool.map(score_file, files))


def large(report: Callable[[str], None]) -> None:
    """The largest mesh and cloud that are scored: seconds, and how far they raise the memory of this process."""
    rng = np.random.default_rng(0)
    for name, data in (
        ("a mesh of 1,000,000 faces", off(torus(1000, 500))),
        ("a cloud of 500,000 points", ply(rng.normal(size=(500_000, 3)))),
    ):
        before = peak()
        taken = seconds(partial(score_file, data))
        report(f"{name}: {taken:.1f} s, {peak() - before:.0f} MiB more")


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def score(trial: Trial, profile: str = "standard") -> Any:
    return score_one(bind(quality_3d, {}, profile), trial)


def score_file(data: bytes) -> Any:
    return score(shown(data))


def shaken(rings: int, sides: int) -> Mesh:
    points, faces = torus(rings, sides)
    return points + 0.002 * np.random.default_rng(0).normal(size=points.shape), faces


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main(argv: Sequence[str] | None = None, report: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="the largest items, too")
    args = parser.parse_args(argv)
    report("| figure | measured | goal | met |\n|---|---|---|---|")
    missed = 0
    for figure in figures():
        report(figure.row())
        missed += not figure.met
    if args.large:
        large(report)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
