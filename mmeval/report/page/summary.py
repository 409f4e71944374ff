"""A run in plain words: what was asked, and what a reader has to know before the
numbers are used."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mmeval.findings.finding import Finding
from mmeval.findings.render import NOWHERE, Place, page_rows
from mmeval.report.page.index import Asked
from mmeval.results.compare import judges_in
from mmeval.results.numbers import number_rows
from mmeval.results.stored_run import StoredRun, TaskRow

MOST_NAMED = 5
"""Tasks and models that are named one by one."""


def lead(run: StoredRun, tally: Mapping[str, int], asked: Asked) -> list[str]:
    """What the run is, in one sentence; without numbers also how far it is.
    ``tally`` is how many of its trials have each status."""
    return [_asked(run, asked)] if run.results else list(_without_numbers(run, tally))


def notes(run: StoredRun) -> list[str]:
    """What a reader has to know before the numbers are used. What was missing before
    the run stands elsewhere on the page."""
    findings = []
    for finding in run.findings:
        is_said = finding.kind == "not_comparable" and not compares(run)
        if not is_said and not finding.kind.startswith("missing"):
            findings.append(finding)
    found = [*_uses_reference(run.ours), *in_words(findings)]
    if others := run.other_tasks:
        found.append(
            f"Also in the folder, and not of the last command: {_listed(others)}."
        )
    return found


def in_words(findings: Iterable[Finding], place: Place = NOWHERE) -> Iterator[str]:
    """Findings as notes of a page."""
    for row in page_rows(findings, place):
        remedy = f": {row['remedy']}" if row["remedy"] else ""
        yield f"{row['label']}: {row['text']}{remedy}"


def _without_numbers(run: StoredRun, tally: Mapping[str, int]) -> Iterator[str]:
    tasks = [task.alias for task in run.tasks]
    yield (
        f"{run.model} was asked for {_listed(tasks) if tasks else 'nothing yet'}. "
        "There are no numbers yet."
    )
    made = sum(tally.values())
    yield _so_far(made, tally)
    if not run.record.get("finished"):
        yield (
            "The run has not come to its end; the command that began it goes on with "
            "it, and makes the numbers."
        )
    if made:
        yield (
            f"The numbers of what is made: mmeval score {shlex.quote(str(run.folder))}"
        )


def _so_far(made: int, tally: Mapping[str, int]) -> str:
    """``Trials: 24 made, 16 scored, 2 failed.``"""
    words = [f"{made:,} made"]
    for status in ("scored", "refused", "failed", "unsupported"):
        if tally.get(status):
            words.append(f"{tally[status]:,} {status}")
    return f"Trials: {', '.join(words)}."


def _asked(run: StoredRun, asked: Asked) -> str:
    """What was asked of what was chosen, who judged, and whether a number compares."""
    rows = number_rows([run.results], [run.name], empty=True)
    names = _listed(list(dict.fromkeys(row.alias for row in rows if not row.depth)))
    counts = [f"samples: {asked.samples:,}"]
    if asked.samples != asked.chosen:
        counts = [f"samples: {asked.samples:,} of {asked.chosen:,}"]
    if asked.trials > asked.samples:
        counts.append(f"trials with repeats: {asked.trials:,}")
    models = _judges(run.ours)
    judges = [f"the {role} was {_listed(names)}" for role, names in models.items()]
    if not judges:
        judges = ["no judge was asked"]
    if not compares(run):
        judges.append("no number compares with a published one")
    return f"{run.model} was asked {names} ({', '.join(counts)}); {_listed(judges)}."


def compares(run: StoredRun) -> bool:
    """Whether a number of some task compares with a published one."""
    return not {task.name for task in run.tasks} <= set(
        run.ours.get("not_comparable", ())
    )


def _judges(ours: TaskRow) -> dict[str, list[str]]:
    """The models that were asked in each role besides the model's, in order."""
    pairs = judges_in(ours, ours.get("judges", ()))
    return {
        role: sorted(model for own, model in pairs if own == role)
        for role in sorted({role for role, _ in pairs})
    }


def _uses_reference(ours: TaskRow) -> Iterator[str]:
    if tasks := list(ours.get("uses_reference", ())):
        yield (
            f"Uses reference information: {_listed(tasks)}, whose prompts state what "
            "the references say."
        )


def _listed(names: Sequence[str]) -> str:
    shown = [*names[:MOST_NAMED]]
    if len(names) > MOST_NAMED:
        shown.append(f"{len(names) - MOST_NAMED} more")
    *rest, last = shown or ["nothing"]
    return f"{', '.join(rest)} and {last}" if rest else last
