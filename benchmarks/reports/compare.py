"""Two runs of a benchmark of 31,026 samples compared, from their folders to the printed
text, with the page."""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Figure, Fresh, measure
from tests.support.stored_run import Told, text, write_run

SAMPLES = 31_026
DETAILS = ("lenient", "coverage", "quality", "coherence")
METRICS = ("right", *DETAILS)


def write(folder: Path, count: int, seed: int) -> Path:
    """A run whose samples have texts of some 1,500 characters, five metrics and three
    labels."""
    drawn = random.Random(seed)
    asked = [text("Explain what happens here, step by step. " * 30)]
    trials = (_told(asked, drawn, at) for at in range(count))
    rows = [
        {"task": "told", "metric": name, "value": 0.5, "n": count, "scored": count}
        for name in METRICS
    ]
    metric = {
        "outputs": list(METRICS),
        "range": [0, 1],
        "version": "1",
        "aggregation": "mean",
    }
    return write_run(
        folder,
        trials,
        results={"results": rows, "metrics": {"told": {"all": metric}}},
        model=folder.name,
    )


def _told(asked: list[dict[str, object]], drawn: random.Random, at: int) -> Told:
    scores = {
        name: {"value": round(drawn.random(), 3), "status": "scored"}
        for name in DETAILS
    }
    right = {
        "value": float(drawn.random() < 0.7),
        "status": "scored",
        "evidence": {"found": "word " * 20},
    }
    return Told(
        asked,
        [text(f"Answer {at}. " + "It goes on like this. " * 20)],
        {"right": right, **scores},
        sample=f"area/{at % 30}/{at}",
        references=[[text("What was expected. " * 10)]],
        labels={"field": f"f{at % 3}", "domain": f"d{at % 30}", "level": f"l{at % 3}"},
    )


def written(place: str, count: int) -> list[str]:
    return [
        str(write(Path(place) / name, count, seed))
        for seed, name in enumerate(("one", "two"))
    ]


def figures(quick: bool) -> Iterator[Figure]:
    count = 3_000 if quick else SAMPLES
    with tempfile.TemporaryDirectory() as place:
        # In a process of its own: the peak of a process begins with that of the one
        # that started it.
        runs = Fresh("benchmarks.reports.compare:written", place, count).result()
        for what, words in (
            ("with the page", ()),
            ("text alone", ("--report", "false")),
        ):
            command = [
                sys.executable,
                "-m",
                "mmeval",
                "compare",
                *runs,
                "-o",
                f"{place}/page",
                *words,
            ]
            found = measure(command)
            yield Figure(
                f"two runs of {count:,}, {what}",
                found.cpu,
                10,
                " s of CPU",
                note=f"{found.wall:.1f} s",
            )
            yield Figure(f"memory, {what}", found.peak, 300, " MiB")
