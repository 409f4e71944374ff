"""What a data set of the size of the largest benchmark costs: seconds and peak memory
of whole commands."""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Figure, measure

SAMPLES = 31_026


def figures(quick: bool) -> Iterator[Figure]:
    """The same with ``quick``: they take seconds."""
    yield from dry_run()
    yield from numbers()


# --- a dry run ------------------------------------------------------------------------

DRY_TASK = """\
task: large
loader: interleaved
dataset_path: data
output_modalities: [text, image]
generation_kwargs: {max_gen_toks: 512}
metadata: {version: 1.0}
metric_list:
  - metric: strict_structure
  - metric: rubric_judge
"""
PICTURES, PICTURE_BYTES, CRITERIA = 500, 20_000, 4


def dry_run() -> Iterator[Figure]:
    """A dry run over interleaved samples, two in five of them with pictures, each with
    a rubric for a judge."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_large(folder)
        found = measure(
            [
                sys.executable,
                "-m",
                "mmeval",
                "--tasks",
                str(folder / "large.yaml"),
                "--dry_run",
                "--model",
                "openai",
                "--model_args",
                "model=gpt-4o,outputs=text+image",
                "--role",
                "judge=openai,model=gpt-4o-mini",
                "--budget_usd",
                "100",
            ],
            folder,
        )
    yield Figure(f"dry run of {SAMPLES:,} samples", found.cpu, 10, " s of CPU")
    yield Figure("peak memory of the dry run", found.peak, 200, " MiB")


def _write_large(folder: Path) -> None:
    chance = random.Random(1)
    (folder / "data" / "img").mkdir(parents=True)
    (folder / "large.yaml").write_text(DRY_TASK)
    for number in range(PICTURES):
        bytes_ = b"\x89PNG\r\n\x1a\n" + chance.randbytes(PICTURE_BYTES)
        (folder / "data" / "img" / f"{number}.png").write_bytes(bytes_)
    with (folder / "data" / "test.jsonl").open("w") as file:
        file.writelines(
            json.dumps(_large_row(number)) + "\n" for number in range(SAMPLES)
        )


def _large_row(number: int) -> dict[str, object]:
    words = (
        f"question {number}: " + "what is to be seen, and what is to be heard? " * 12
    )
    rubric = [f"criterion {at} of question {number}" for at in range(CRITERIA)]
    row: dict[str, object] = {
        "id": str(number),
        "input": words,
        "reference": "a <<image1>>",
        "rubric": rubric,
    }
    if number % 5 > 2:
        places = {f"image{at}": f"img/{(number + at) % PICTURES}.png" for at in (1, 2)}
        row["input"] = {"text": f"<<image1>> {words} <<image2>>", "media": places}
    return row


# --- the numbers ----------------------------------------------------------------------

DOMAINS, LEVELS = 30, 3


def numbers() -> Iterator[Figure]:
    """Score rows of six metrics, one of them bootstrapped, whole and by domain, level
    and both: 744 numbers with intervals and bounds, a table and a results file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chance = random.Random(1)
        with (folder / "rows.jsonl").open("w") as file:
            file.writelines(
                json.dumps(_score_row(at, chance)) + "\n" for at in range(SAMPLES)
            )
        program = [
            sys.executable,
            "-m",
            "benchmarks.reports.large_results",
            str(folder),
        ]
        found = measure(program)
        (written,) = folder.glob("results_*.json")
        made = len(json.loads(written.read_text())["mmeval"]["results"])
    yield Figure(
        f"numbers of {SAMPLES:,} samples",
        found.cpu,
        15,
        " s of CPU",
        note=f"{made} numbers",
    )
    yield Figure("peak memory of the numbers", found.peak, 500, " MiB")


def _score_row(at: int, chance: random.Random) -> dict[str, object]:
    """One in fifty is unscored by one metric, one in a hundred failed."""
    domain, level = f"domain {at % DOMAINS}", f"level {chance.randrange(LEVELS)}"
    row: dict[str, object] = {
        "i": at,
        "n": 0,
        "s": f"sample {at}",
        "d": f"{at:032x}",
        "status": "ok",
    }
    labels = {"domain": domain, "level": level, "cell": f"{domain}, {level}"}
    if at % 100 == 0:
        return {**row, "status": "failed", "scores": {}, "labels": labels}
    names = ("right", "met", "clear", "near", "short", "middle")
    scores: dict[str, object] = {
        name: {
            "value": round(chance.random(), 4),
            "status": "scored",
            "evidence": {"counted": [at, at + 1]},
        }
        for name in names
    }
    scores["right"] = {"value": float(chance.random() < 0.7), "status": "scored"}
    if at % 50 == 1:
        scores["met"] = {
            "value": None,
            "status": "unscored",
            "reason": "a verdict was lost",
            "bounds": [0.25, 0.5],
        }
    return {**row, "scores": scores, "labels": labels}
