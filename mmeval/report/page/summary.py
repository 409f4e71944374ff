"""A run in plain words: what was asked, and what a reader has to know before the
numbers are used."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from mmeval.dataset.sampling import FEWER
from mmeval.findings.finding import Finding
from mmeval.findings.render import page_rows
from mmeval.report.numbers import is_subset, number_rows
from mmeval.report.page.index import Asked
from mmeval.results.compare import judges_in
from mmeval.results.stored_run import StoredRun, TaskRow
from mmeval.wording import counted

MOST_NAMED = 5
"""Tasks and models that are named one by one."""


def lead(run: StoredRun, tally: Mapping[str, int], asked: Asked) -> list[str]:
    """What the run is, in one sentence; without numbers also how far it is.
    ``tally`` is how many of its trials have each status."""
    return (
        [_asked(run, tally, asked)]
        if run.results
        else list(_without_numbers(run, tally))
    )


def notes(run: StoredRun) -> list[str]:
    """What a reader has to know before the numbers are used."""
    ours = run.ours
    found = [
        *(_not_comparable(ours) if compares(run) else ()),
        *_uses_reference(ours),
        *_partial(ours),
        *_lost(ours),
    ]
    if others := run.other_tasks:
        found.append(
            f"The folder also holds {_listed(others)}, of which the newest results "
            "file says nothing; "
            "the last command did not name them."
        )
    return found


def _lost(ours: TaskRow) -> Iterator[str]:
    """What the run has lost; what was missing before it stands elsewhere on the
    page."""
    findings = map(Finding.from_json, ours.get("findings", ()))
    lost = (one for one in findings if not one.kind.startswith("missing"))
    for row in page_rows(lost):
        yield f"{row['label']}: {row['text']}"


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
    """``24 trials were made, 16 of them are scored, 2 failed.``"""
    if not made:
        return "No trial was made."
    scored = tally.get("scored", 0)
    words = [
        f"{counted(made, 'trial')} {'was' if made == 1 else 'were'} made",
        f"{scored:,} of them scored",
    ]
    words += [
        f"{tally[status]:,} {status}"
        for status in ("refused", "failed", "unsupported")
        if tally.get(status)
    ]
    return f"{', '.join(words)}."


def _asked(run: StoredRun, tally: Mapping[str, int], asked: Asked) -> str:
    """What was asked of what was chosen, who judged, and whether a number compares."""
    rows = number_rows([run.results], [run.name], empty=True)
    names = _listed(list(dict.fromkeys(row.alias for row in rows if not row.depth)))
    whole = asked.samples == asked.chosen
    samples = (
        counted(asked.samples, "sample")
        if whole
        else f"{asked.samples:,} of {counted(asked.chosen, 'sample')}"
    )
    words = [f"{run.model} was asked {samples} of {names}"]
    if asked.trials > asked.samples:
        words.append(f", {asked.trials:,} trials with repeats")
    if not whole:
        unsupported = tally.get("unsupported", 0)
        damaged = (
            sum(tally.values()) - tally.get("uncounted", 0) - asked.trials > unsupported
        )
        whys = ["need kinds that it does not take or give"] * (unsupported > 0) + [
            "are damaged"
        ] * damaged
        words.append(f", as the others {' or '.join(whys)}")
    judges = [
        f"the {role} was {_listed(models)}"
        for role, models in _judges(run.ours).items()
    ]
    judges += [] if compares(run) else ["no number compares with a published one"]
    return (
        f"{''.join(words)}; "
        f"{_listed(judges if _judges(run.ours) else ['no judge was asked', *judges])}."
    )


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


def _not_comparable(ours: TaskRow) -> Iterator[str]:
    tasks = list(ours.get("not_comparable", ()))
    if tasks:
        why = (
            "made on the few samples that ship with a task, or by a stand-in of a "
            "metric"
        )
        yield f"Not comparable with published numbers: {_listed(tasks)}, {why}."


def _uses_reference(ours: TaskRow) -> Iterator[str]:
    if tasks := list(ours.get("uses_reference", ())):
        yield (
            f"Uses reference information: {_listed(tasks)}, whose prompts state what "
            "the references say."
        )


def _partial(ours: TaskRow) -> Iterator[str]:
    for task, row in ours.get("unfinished", {}).items():
        yield f"{task} is unfinished: {row['made']:,} {_of(row)}trials were made."
    for task, row in ours.get("subset", {}).items():
        if is_subset(row):
            flags = [name for name in row.get("how", ()) if name != FEWER]
            how = [f"chosen by {', '.join(flags)}"] if flags else []
            how += (
                ["its data hold fewer than the task file expects"]
                if FEWER in row.get("how", ())
                else []
            )
            ways = f" ({'; '.join(how)})" if how else ""
            yield f"{task} is a subset: {row['chosen']:,} {_of(row)}samples{ways}."


def _of(row: TaskRow) -> str:
    return "" if row.get("of") is None else f"of {row['of']:,} "


def _listed(names: Sequence[str], word: str = "and") -> str:
    shown = [
        *names[:MOST_NAMED],
        *([f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []),
    ]
    *rest, last = shown or ["nothing"]
    return f"{', '.join(rest)} {word} {last}" if rest else last
