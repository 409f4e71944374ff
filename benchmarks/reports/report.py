"""What a report of many trials costs: seconds and peak memory of ``mmeval report``.

Each run folder is made here: a question, an answer with code in every tenth, two
metrics, labels, and a judge's reply for every fifth trial.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Figure, measure
from tests.support.stored_runs import WrittenTrial, text, write_run

GOALS = {10_000: (1.5, 400.0), 50_000: (8.0, 400.0)}
"""By trials, the seconds and MiB that a report may take."""
_CODE = (
    "```python\ndef area(width, height):\n    return width * height  # in metres\n```"
)
_WORDS = "what is to be seen in it, and what is to be heard? " * 6


def told(number: int) -> WrittenTrial:
    """A trial among many."""
    answer = [text(f"answer {number}: {_WORDS}")]
    if number % 10 == 0:
        answer.append(
            {"type": "code", "text": _CODE, "raw": "<<code1>>", "label": "code1"}
        )
    verdicts = [
        {
            "metric": "near",
            "role": "judge",
            "asked": "j",
            "parts": [text('{"grade": 3}')],
        }
    ]
    failed = (
        {"kind": "timeout", "message": "no answer in 60 s"}
        if number % 100 == 99
        else None
    )
    scores = {
        "right": {
            "value": float(number % 3 > 0),
            "status": "scored",
            "evidence": {"wanted": "a", "found": "b"},
        },
        "near": {
            "value": number % 7 / 6,
            "status": "scored",
            "evidence": {"grade": number % 7, "of": 6},
        },
    }
    return WrittenTrial(
        asked=[text(f"question {number}: {_WORDS}")],
        answer=None if failed else answer,
        scores={} if failed else scores,
        references=[[text(f"reference {number}")]],
        metadata={"domain": f"domain {number % 30}", "level": number % 3},
        labels={"domain": f"domain {number % 30}", "level": number % 3},
        error=failed,
        verdicts=verdicts if number % 5 == 0 and not failed else [],
    )


def figures(quick: bool) -> Iterator[Figure]:
    for count, (seconds, peak) in [*GOALS.items()][: 1 if quick else None]:
        with tempfile.TemporaryDirectory() as name:
            run = write_run(Path(name) / "run", map(told, range(count)), results={})
            found = measure(
                [sys.executable, "-m", "mmeval", "report", str(run)], Path(name)
            )
            size = (
                sum(
                    file.stat().st_size
                    for file in (run / "report").rglob("*")
                    if file.is_file()
                )
                / 2**20
            )
        yield Figure(
            f"a report of {count:,} trials",
            found.cpu,
            seconds,
            " s of CPU",
            note=f"{size:,.0f} MiB",
        )
        yield Figure(f"its peak memory, {count:,} trials", found.peak, peak, " MiB")
