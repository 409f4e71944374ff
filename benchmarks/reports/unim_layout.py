"""What the end of a run over all of UniM costs: seconds and peak memory of its numbers,
its tables and its report.

The run folder is made here: a question with its labels, an answer, eight numbers, in
part lost or unsupported, and what seven metrics say of the answer's items. Then two
commands: the numbers of the task with all breakdowns, the results file, the table and
the paper's tables; and ``mmeval report``. Memory is the peak resident set of the larger
of both.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.measuring import Figure, measure
from mmeval.metric.contract import metric
from mmeval.records.trial import Trial
from mmeval.report.results_file import write_results
from mmeval.report.table import render
from mmeval.report.table_formats.layouts import markdown_tables
from mmeval.results.layout import load_layout
from mmeval.results.stored_run import StoredRun
from mmeval.results.task_results import TaskNumbers, task_results
from mmeval.settings.report_options import ReportContext
from mmeval.tasks.unim.domains import DOMAINS, LEVELS
from mmeval.tasks.unim.tables.items import TITLES
from mmeval.tasks.unim.tables.pool import NUMBERS
from tests.support.outcomes import outcome, task
from tests.support.stored_run import SCORE_SET, Told, text, write_run
from tests.support.table_scores import BREAKDOWN, Row, labels, trial

SECONDS, MIB = 15.0, 500.0
TASK = "unim_all"
SAMPLES = sum(domain.total for domain in DOMAINS)
OUTPUTS = (*NUMBERS, *TITLES)
_WORDS = "what is to be seen in it, and what is to be heard? " * 6


@metric(range=(0, 1), version="1", source="made for the benchmark", outputs=OUTPUTS)
def numbers(_trial: Trial) -> float:
    """Stands for metrics whose scores are there already."""
    return 0.0


def random_trials(count: int = SAMPLES) -> Iterator[Row]:
    """Trials of the data set's size and make-up, with every way in which one may lack a
    number."""
    chance = random.Random(1)
    places = [
        (d, level) for d in DOMAINS for level in LEVELS for _ in range(d.count(level))
    ]
    combinations = [
        f"{a}->{b}"
        for a in ("I", "A", "I+A", "D", "V", "I+D", "3D")
        for b in ("I", "A", "I+A", "D", "C")
    ]
    for at in range(count):
        domain, level = places[at * len(places) // count]
        able = chance.sample([f"C{n}" for n in range(1, 11)], chance.randrange(5))
        of = labels(
            domain.name,
            level,
            capabilities=able,
            combination=chance.choice(combinations),
        )
        yield trial(
            f"{domain.field}/{domain.name}/{at}",
            _random_scores(chance, domain.number),
            of,
        )


def _random_scores(chance: random.Random, number: int) -> dict[str, float | str] | str:
    """Domains differ in what is supported; of the fifth nothing is."""
    if number == 5 or chance.random() < number / 60:
        return "unsupported"
    if chance.random() < 0.02:
        return chance.choice(("failed", "bad_sample"))
    found: dict[str, float | str] = {
        name: round(chance.random(), 3) for name in NUMBERS
    }
    if all(
        isinstance(found[name], float)
        for name in ("holistic_coherence", "stylistic_harmony")
    ):
        found["interleaved_coherence"] = (
            0.8 * found["holistic_coherence"] + 0.2 * found["stylistic_harmony"]  # type: ignore[operator]
        )
    for name in NUMBERS:
        if chance.random() < 0.01:
            found[name] = "unscored"
    return found


def with_items(rows: Iterable[Row], seed: int = 1) -> Iterator[Row]:
    """Trials with what the metrics of quality say of their answers: most have a text,
    pictures and a sound, a few the rest; every item with as many terms as a sound
    has."""
    chance = random.Random(seed)
    for row in rows:
        if row["status"] == "ok":
            row = {  # noqa: PLW2901
                **row,
                "scores": {
                    **row["scores"],
                    **{name: _of_items(chance, name) for name in TITLES},
                },
            }
        yield row


def _of_items(chance: random.Random, name: str) -> Row:
    count = {
        "text_quality": 1,
        "image_quality": chance.randrange(4),
        "audio_quality": chance.randrange(3),
    }.get(name, int(chance.random() < 0.1))
    if not count:
        return {
            "value": None,
            "status": "inapplicable",
            "reason": f"the answer has no {TITLES[name]} to look at",
        }
    qualities = [round(chance.random(), 3) for _ in range(count)]
    items = [
        {
            "label": f"{TITLES[name]}{at}",
            "quality": one,
            **{f"term{n}": chance.random() for n in range(20)},
        }
        for at, one in enumerate(qualities, 1)
    ]
    return {
        "value": sum(qualities) / count,
        "status": "scored",
        "evidence": {"items": items},
    }


def told(row: dict[str, Any]) -> Told:
    """A score row as a trial of a run folder."""
    return Told(
        asked=[text(f"question {row['s']}: {_WORDS}")],
        answer=None
        if row["status"] != "ok"
        else [text(f"answer {row['s']}: {_WORDS}")],
        scores=row["scores"],
        sample=row["s"],
        references=[[text(f"reference {row['s']}: {_WORDS}")]],
        metadata=row["labels"],
        labels=row["labels"],
        error=row.get("error"),
    )


def figures(quick: bool) -> Iterator[Figure]:
    count = 3_000 if quick else SAMPLES
    with tempfile.TemporaryDirectory() as name:
        config = {"loader": "unim", "layout": "unim", "breakdown": list(BREAKDOWN)}
        run = write_run(
            Path(name) / "run",
            map(told, with_items(random_trials(count))),
            task=TASK,
            config=config,
        )
        ended = measure(
            [sys.executable, "-m", "benchmarks.reports.unim_layout", str(run)]
        )
        reported = measure(
            [sys.executable, "-m", "mmeval", "report", str(run)], Path(name)
        )
    yield Figure(
        f"numbers and tables of {count:,} instances", ended.cpu, SECONDS, " s of CPU"
    )
    yield Figure("their report", reported.cpu, SECONDS, " s of CPU")
    yield Figure("both", ended.cpu + reported.cpu, SECONDS, " s of CPU")
    yield Figure("their peak memory", max(ended.peak, reported.peak), MIB, " MiB")


def end(folder: Path) -> None:
    """The end of a run whose trials are all scored."""
    whole = replace(task(TASK, metric=numbers), breakdown=BREAKDOWN)
    whole = replace(
        whole,
        config={
            "task": TASK,
            "loader": "unim",
            "layout": "unim",
            "breakdown": list(BREAKDOWN),
        },
    )
    results = task_results(
        TaskNumbers.of(whole),
        folder / "scores" / TASK / SCORE_SET,
        lambda _index, _repeat: True,
    )
    made = outcome(folder, *results, tasks=(whole,), score_sets={TASK: Path(SCORE_SET)})
    context = ReportContext("none")
    document = json.loads(
        write_results(made, context, moment=datetime.now()).read_bytes()
    )
    sys.stdout.write(render(document, made.selection, context))
    sys.stdout.write(markdown_tables(load_layout("unim")(StoredRun(folder))))


if __name__ == "__main__":
    end(Path(sys.argv[1]))
