"""A run in plain words: what was asked and scored, how sure it is, what it costs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mmeval.costs.bill import dollars
from mmeval.dataset.sampling import FEWER
from mmeval.records.score import Result
from mmeval.report.headline import headline_rows
from mmeval.report.notes import is_unavailable
from mmeval.report.numbers import NumberRow, is_subset, number_rows
from mmeval.report.page.index import Asked
from mmeval.results.stored_run import StoredRun, TaskRow
from mmeval.wording import counted

MOST_NAMED = 5
"""Tasks and numbers that are named one by one."""


def lead(run: StoredRun, tally: Mapping[str, int], asked: Asked) -> list[str]:
    """What the run is, in one sentence; without numbers also how far it is.
    ``tally`` is how many of its trials have each status."""
    return [_asked(run, tally, asked)] if run.results else list(_without_numbers(run, tally))


def facts(run: StoredRun) -> list[str]:
    """What else is known of a run with numbers."""
    return list(_facts(run)) if run.results else []


def notes(run: StoredRun) -> list[str]:
    """What a reader has to know before the numbers are used."""
    ours = run.ours
    said = [*_not_comparable(ours), *_partial(ours), *(str(text) for text in ours.get("complaints", ()))]
    if others := run.other_tasks:
        said.append(
            f"The folder also holds {_listed(others)}, of which the newest results file says nothing; "
            "the last command did not name them."
        )
    return said


def _without_numbers(run: StoredRun, tally: Mapping[str, int]) -> Iterator[str]:
    tasks = [task.alias for task in run.tasks]
    yield f"{run.model} was asked for {_listed(tasks) if tasks else 'nothing yet'}. There are no numbers yet."
    made = sum(tally.values())
    yield _so_far(made, tally)
    if not run.record.get("finished"):
        yield "The run has not come to its end; the command that began it goes on with it, and makes the numbers."
    if made:
        yield f"The numbers of what is made: mmeval score {shlex.quote(str(run.folder))}"


def _so_far(made: int, tally: Mapping[str, int]) -> str:
    """``24 trials were made, 16 of them are scored, 2 failed.``"""
    if not made:
        return "No trial was made."
    scored = tally.get("scored", 0)
    words = [f"{counted(made, 'trial')} {'was' if made == 1 else 'were'} made", f"{scored:,} of them scored"]
    words += [f"{tally[status]:,} {status}" for status in ("failed", "unsupported") if tally.get(status)]
    return f"{', '.join(words)}."


def _asked(run: StoredRun, tally: Mapping[str, int], asked: Asked) -> str:
    """What was asked of what was chosen, who judged, and whether a number compares."""
    rows = number_rows([run.results], [run.name], empty=True)
    names = _listed(list(dict.fromkeys(row.alias for row in rows if not row.depth)))
    whole = asked.samples == asked.chosen
    samples = counted(asked.samples, "sample") if whole else f"{asked.samples:,} of {counted(asked.chosen, 'sample')}"
    words = [f"{run.model} was asked {samples} of {names}"]
    if asked.trials > asked.samples:
        words.append(f", {asked.trials:,} trials with repeats")
    if not whole:
        unsupported = tally.get("unsupported", 0)
        damaged = sum(tally.values()) - tally.get("uncounted", 0) - asked.trials > unsupported
        whys = ["need kinds that it does not take or give"] * (unsupported > 0) + ["are damaged"] * damaged
        words.append(f", as the others {' or '.join(whys)}")
    judges = [f"the {role} was {_listed(models)}" for role, models in _judges(run.ours).items()]
    foreign = run.ours.get("not_comparable", ())
    judges += ["no number compares with a published one"] if {task.name for task in run.tasks} <= {*foreign} else []
    return f"{''.join(words)}; {_listed(judges if _judges(run.ours) else ['no judge was asked', *judges])}."


def _judges(ours: TaskRow) -> dict[str, list[str]]:
    """The models that were asked in each role besides the model's, in order."""
    pairs = {
        (str(j["role"]), str(j.get("served") or j.get("asked"))) for all in ours.get("judges", {}).values() for j in all
    }
    return {role: sorted(model for own, model in pairs if own == role) for role in sorted({role for role, _ in pairs})}


def _facts(run: StoredRun) -> Iterator[str]:
    rows = number_rows([run.results], [run.name])
    protocols = dict.fromkeys(str(name) for name in run.ours.get("protocols", {}).values())
    backend = run.record.get("options", {}).get("model", "")
    how = [f"through the backend {backend}"] if backend else []
    how += [f"by the protocol {' or '.join(protocols)}"] if protocols else []
    if how:
        yield f"The model was asked {', '.join(how)}."
    yield from _scored([row for row in rows if not row.slice and not row.is_group])
    yield from _how_sure(rows)
    yield from _spent(run.ours.get("spent", {}))


def _worst(rows: Iterable[NumberRow]) -> dict[str, Result]:
    """For each task the result of the metric that lacks most.
    One that is unavailable in all of it lacks nothing of a trial, unless there is no other."""
    found: dict[str, Result] = {}
    for row in rows:
        result = row.results[0]
        if result is not None and (row.task not in found or _lack(result) < _lack(found[row.task])):
            found[row.task] = result
    return found


def _lack(result: Result) -> tuple[bool, int]:
    """The less for a metric that lacks more; an inapplicable answer lacks nothing."""
    return is_unavailable(result), result.scored + result.inapplicable


def _unavailable(rows: Sequence[NumberRow]) -> list[str]:
    """The numbers that are unavailable in all of a task that has others."""
    worst = _worst(rows)
    found = [row for row in rows if row.results[0] is not None and is_unavailable(row.results[0])]
    return list(dict.fromkeys(row.metric for row in found if not is_unavailable(worst[row.task])))


def _scored(rows: Sequence[NumberRow]) -> Iterator[str]:
    worst = _worst(rows).values()
    total = sum(result.n for result in worst)
    if not total:
        return
    scored = sum(result.scored + result.inapplicable for result in worst)
    lost = {
        "failed": sum(result.failed for result in worst),
        "could not be scored": sum(result.unscored for result in worst),
        "could not be asked, because the model does not take or give what they need": sum(
            result.unsupported for result in worst
        ),
        "have a metric that cannot be computed here": sum(result.unavailable for result in worst),
    }
    absent = _unavailable(rows)
    applies = any(row.results[0] is not None and row.results[0].inapplicable for row in rows)
    every = "every metric that applies to the answer" if applies else "every metric"
    metrics = f"{every} but {_listed(absent)}, which cannot be computed here" if absent else every
    if scored == total:
        yield f"All {total:,} trials were scored by {metrics}." if total > 1 else f"The trial was scored by {metrics}."
        return
    why = "; ".join(f"{count:,} {words}" for words, count in lost.items() if count)
    yield f"{scored:,} of {total:,} trials were scored by {metrics}; {why}. None of these counts as zero."


def _how_sure(rows: Sequence[NumberRow]) -> Iterator[str]:
    """The headlines of what no group holds."""
    first = [row for row in headline_rows(rows) if not row.depth]
    for row in first[:MOST_NAMED]:
        result = row.results[0]
        if result is not None:
            yield f"{row.alias}: {_sure(row.metric, result)}"
    if len(first) > MOST_NAMED:
        yield f"The other {len(first) - MOST_NAMED} are in the table."


def _sure(metric: str, result: Result) -> str:
    if result.value is None:
        if result.has_nothing_to_score:
            return f"{metric} has nothing to score."
        return f"{metric} has no value, as scoring was suspended." if result.suspended else f"{metric} has no value."
    better = "" if result.higher_is_better else " (lower is better)"
    said = f"{metric}{better} is {result.value:.4f}"
    if result.ci95 is not None:
        groups = f", from {counted(result.clusters, 'independent group')} of trials" if result.clusters else ""
        said += f"; with 95 % confidence it lies between {result.ci95[0]:.4f} and {result.ci95[1]:.4f}{groups}"
    else:
        said += "; from so few trials nothing can be said of how sure that is"
    if result.bounds is not None and (result.failed or result.unscored):
        said += (
            f". Whatever is failed or unscored could move it to between {result.bounds[0]:.4f} and "
            f"{result.bounds[1]:.4f}"
        )
    return f"{said}."


def _spent(spent: Mapping[str, Any]) -> Iterator[str]:
    if not spent.get("calls"):
        return
    words = [counted(spent["calls"], "call")]
    if spent.get("input_tokens") or spent.get("output_tokens"):
        words.append(f"{spent.get('input_tokens', 0):,} tokens in and {spent.get('output_tokens', 0):,} out")
    if spent.get("images"):
        words.append(f"{counted(spent['images'], 'image')} made")
    cost = (
        "; what it cost is not known"
        if spent.get("usd") is None
        else f"; {dollars(spent['usd'])}"
        if spent["usd"]
        else ""
    )
    yield f"Spent in this run folder: {', '.join(words)}{cost}."


def _not_comparable(ours: TaskRow) -> Iterator[str]:
    tasks = list(ours.get("not_comparable", ()))
    if tasks:
        why = "made on the few samples that ship with a task, or by a stand-in of a metric"
        yield f"Not comparable with published numbers: {_listed(tasks)}, {why}."


def _partial(ours: TaskRow) -> Iterator[str]:
    for task, row in ours.get("unfinished", {}).items():
        yield f"{task} is unfinished: {row['made']:,} {_of(row)}trials were made."
    for task, row in ours.get("subset", {}).items():
        if is_subset(row):
            flags = [name for name in row.get("how", ()) if name != FEWER]
            how = [f"chosen by {', '.join(flags)}"] if flags else []
            how += ["its data hold fewer than the task file expects"] if FEWER in row.get("how", ()) else []
            ways = f" ({'; '.join(how)})" if how else ""
            yield f"{task} is a subset: {row['chosen']:,} {_of(row)}samples{ways}."


def _of(row: TaskRow) -> str:
    return "" if row.get("of") is None else f"of {row['of']:,} "


def _listed(names: Sequence[str], word: str = "and") -> str:
    shown = [*names[:MOST_NAMED], *([f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else [])]
    *rest, last = shown or ["nothing"]
    return f"{', '.join(rest)} {word} {last}" if rest else last
