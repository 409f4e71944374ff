"""What shards cost when they are merged, and what a large data set of videos costs by
path."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from benchmarks.measuring import ROOT, Figure, Measured, measure
from mmeval.media.media import Media
from mmeval.store.media_store import MediaStore
from mmeval.store.run_folder import RunFolder

MEDIUM_BYTES = 2048
VIDEO_BYTES = 1_000_000
DISTINCT = 1000
"""So many videos have bytes of their own; the others are hard links to them, under
names and questions of their own."""
_SAMPLE = re.compile(rb'{"i":(\d+),')


def figures(quick: bool) -> Iterator[Figure]:
    shards, trials = (8, 8_000) if quick else (64, 100_000)
    yield from merged(shards, trials)
    yield from videos(4_000 if quick else 100_000)


# --- merging --------------------------------------------------------------------------

TASK = """\
task: large
loader: interleaved
dataset_path: data
output_modalities: [text]
metadata: {version: 1.0}
breakdown: [level]
metric_list:
  - metric: exact_match
  - metric: wer
"""


def merged(shards: int, trials: int) -> Iterator[Figure]:
    """The lines of one run dealt out to shards, each trial with a medium of its own
    that lies in its shard's store."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = (
            {
                "id": str(n),
                "input": f"question {n}",
                "reference": str(n),
                "level": n % 9,
            }
            for n in range(trials)
        )
        _write(folder, rows)
        subprocess.run(_command(folder), cwd=ROOT, check=True, capture_output=True)
        run = folder / "runs" / "reference" / "default"
        whole = run.rename(folder / "whole")
        _deal(
            whole,
            [
                run / "shards" / f"{number}-of-{shards}"
                for number in range(1, shards + 1)
            ],
            trials,
        )
        found = measure([sys.executable, "-m", "mmeval", "merge", str(run)], folder)
        linked = sum(path.stat().st_nlink == 2 for path in run.glob("media/*/*"))
        same = all(
            (run / file.relative_to(whole)).read_bytes() == file.read_bytes()
            for file in whole.rglob("scores.jsonl")
        )
    how = (
        f"{shards} shards of {trials:,} trials, {linked:,} media linked, "
        f"{found.wall:.0f} s by the clock"
    )
    yield Figure(
        "merging", found.cpu, 60, " s of CPU", note=how if same else "the scores differ"
    )
    yield Figure("peak memory of merging", found.peak, 300, " MiB")


def _deal(whole: Path, folders: Sequence[Path], trials: int) -> None:
    """Deal a run's lines out to shards, by the sample where a line has its place."""
    for file in (
        path
        for part in ("journal", "samples", "trials", "scores")
        for path in whole.glob(f"{part}/**/*.jsonl")
    ):
        with ExitStack() as opened, file.open("rb") as lines:
            outs = [
                opened.enter_context(_place(whole, file, folder).open("wb"))
                for folder in folders
            ]
            for at, line in enumerate(lines):
                found = _SAMPLE.match(line)
                outs[(int(found[1]) if found else at) % len(folders)].write(line)
    sets = {path.parent.name: path.name for path in whole.glob("scores/*/*")}
    known = {
        "chosen": {"large": [[0, trials - 1, 1]]},
        "subsets": {},
        "score_sets": sets,
        "metric_device": "",
    }
    for number, folder in enumerate(folders):
        for plan in whole.glob("scores/*/*/plan.json"):
            shutil.copy(plan, folder / plan.relative_to(whole))
        store = MediaStore(folder / "media")
        for place in range(number, trials, len(folders)):
            store.put(Media.from_bytes(f"{place}".encode().ljust(MEDIUM_BYTES, b"\0")))
        with closing(RunFolder(folder)) as written:
            written.note(**RunFolder.read_record(whole), shard=known)


def _place(whole: Path, file: Path, folder: Path) -> Path:
    """Where a shard has its lines of a file; segments have names that no other has."""
    own = f"-{folder.name}" if file.parent.name == "journal" else ""
    target = (folder / file.relative_to(whole)).with_stem(f"{file.stem}{own}")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _command(folder: Path, model: str = "reference") -> list[str]:
    return [
        sys.executable,
        "-m",
        "mmeval",
        "--tasks",
        str(folder / "large.yaml"),
        "--model",
        model,
        "--output_path",
        str(folder / "runs"),
        "--report",
        "false",
    ]


def _write(folder: Path, rows: Iterator[dict[str, object]]) -> None:
    (folder / "data").mkdir(exist_ok=True)
    (folder / "large.yaml").write_text(TASK)
    with (folder / "data" / "test.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


# --- videos ---------------------------------------------------------------------------


def videos(samples: int) -> Iterator[Figure]:
    """Samples with a video each, named by its path: a dry run, and a run whose model
    gives nothing."""
    half, whole = (_of_videos(count) for count in (samples // 2, samples))
    for what, before, after in zip(("a dry run", "a run"), half, whole, strict=True):
        growth = 1024 * (after.peak - before.peak) / (samples - samples // 2)
        how = f"{samples:,} samples with a video of 1 MB, {after.cpu:.0f} s of CPU"
        yield Figure(f"peak memory of {what}", after.peak, 150, " MiB", note=how)
        yield Figure(f"growth of {what} a sample", growth, 0.3, " KiB")


def _of_videos(samples: int) -> tuple[Measured, Measured]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = (
            {
                "id": str(n),
                "input": {
                    "text": f"question {n}: what is to be seen? <<video1>>",
                    "media": {"video1": f"video/{n}.mp4"},
                },
                "reference": str(n),
                "level": n % 9,
            }
            for n in range(samples)
        )
        _write(folder, rows)
        (folder / "data" / "video").mkdir()
        for n in range(samples):
            file = folder / "data" / "video" / f"{n}.mp4"
            if n < DISTINCT:
                file.write_bytes(
                    b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + f"{n}".encode()
                )
                with file.open("r+b") as opened:
                    opened.truncate(VIDEO_BYTES)  # a hole of zeros: it takes no room
            else:
                file.hardlink_to(folder / "data" / "video" / f"{n % DISTINCT}.mp4")
        command = _command(folder, "empty")
        return measure([*command, "--dry_run"], folder), measure(
            [*command, "--max_unscored", str(samples)], folder
        )
