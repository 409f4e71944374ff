"""Why a finished run's numbers are not whole: a line for each cause, with advice.

First what was not asked: data that cannot be read, trials that failed. Then what was
asked and has no score. Last what has a score that may surprise: replies that could not
be read and count, and numbers of nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import message_of
from mmeval.judge.verdict import UNREAD
from mmeval.metric.bound import BoundMetric
from mmeval.records.response import HOPELESS
from mmeval.records.score import Cause, Result
from mmeval.results.task_results import Unscored, unscored_reasons
from mmeval.run.jobs import DataFault
from mmeval.run.progress import RunTally
from mmeval.run.task_run import TaskRun
from mmeval.scoring.score_set import finished_rows
from mmeval.store.paths import Wanted
from mmeval.wording import counted, some

MAX_REASONS = 3
"""Reasons for unsupported trials that are named."""
MAX_REASON_CHARS = 200
_FOR_THE_UNSURE = (
    ("not_sure", "the switch not_sure gives a value"),
    ("repeats", "a larger switch repeats may find a majority"),
)
"""What a judged metric may offer for a trial of which its judge is not sure, by the
switch."""
_TOLERATED = "--max_unscored says how many are tolerated"
_HOW_TO_FIX = re.compile(
    r"; (?:delete \S.{,1000}mmeval prepare|put (?:all|the) .{,80}there).{,200}$"
)
_LONGEST_ADVICE = 1300
"""Characters of what ``_HOW_TO_FIX`` finds, at the end of a reason of any length."""
_QUOTED = re.compile(r"""(?<!\w)(?:'[^']*'|"[^"]*"|['"].*)|\d+""", re.DOTALL)
"""What a reason quotes, to its end where the quotation was cut, and numbers."""
COUNTED: Mapping[tuple[str, str], str] = {
    ("lost", "wrong"): "wrong",
    ("judge_failure", "lowest"): "the lowest grade",
    (
        "rubric",
        "dimensions",
    ): "the end of the scale, or the middle where they give no number",
    ("rubric", "overall"): "the end of the scale",
}
"""What such replies count as, by the switch that makes them count and its value."""


def fault_complaints(faults: Mapping[str, DataFault], *, again: str) -> Iterator[str]:
    """Each fault with the way out; ``again`` is what makes the rest."""
    for task, fault in faults.items():
        yield (
            f"the data of {task} cannot be read on after "
            f"{counted(fault.made, 'trial')}: {message_of(fault.error)}; "
            f"correct that, then {again} asks the rest, and what is answered is kept"
        )


def lost_complaints(tally: RunTally, *, again: str) -> Iterator[str]:
    """What was not answered; ``again`` asks for it again, stated if that can help."""
    if (bad := tally.bad).count:
        yield (
            f"{bad.said} (bad_sample); correct the data, then {again} asks the rest, "
            "and what is answered is kept"
        )
        yield from bad.lines()
    if failed := tally.failed - Counter(bad_sample=tally.bad.trials):
        kinds = ", ".join(f"{kind} {count}" for kind, count in failed.most_common())
        hopeless = sum(
            count for kind, count in failed.items() if kind in (*HOPELESS, "bad_sample")
        )
        if not hopeless:
            advice = f"{again} asks them again"
        elif hopeless == failed.total():
            advice = (
                "they fail again when they are asked again, unless what is wrong is "
                f"corrected; {_TOLERATED}"
            )
        else:
            advice = (
                f"{again} asks them again, which helps {hopeless} of them only when "
                "what is wrong is corrected"
            )
        yield f"{counted(failed.total(), 'trial')} failed ({kinds}); {advice}"
        for kind, message in tally.examples.items():
            yield f"the first {kind} failure: {message}"


def unasked_complaints(tally: RunTally) -> Iterator[str]:
    """The trials that the model could not be asked, whole or in part, by what it
    lacks."""
    for kinds, count in tally.partial.most_common():
        yield (
            f"{counted(count, 'trial')} asked without {kinds}, which the model does "
            "not give"
        )
    if count := tally.unsupported.total():
        reasons = tally.unsupported.most_common()
        counts = [
            f"{reason} ({own:,})" if len(reasons) > 1 else reason
            for reason, own in reasons
        ]
        more = "; --log_samples lists them" if len(reasons) > MAX_REASONS else ""
        yield f"{counted(count, 'trial')} not asked: {some(counts, MAX_REASONS)}{more}"


def unscored_complaints(
    runs: Sequence[TaskRun],
    wanted: Sequence[Wanted],
    results: Iterable[Result],
    folder: Path,
    *,
    way: str,
) -> Iterator[str]:
    """The numbers that lack trials, with the most frequent reason, one line a cause.
    Rows are read only for these. Suspended numbers are reported elsewhere, and so is
    what a derived one lacks as its pieces do. ``way`` is what tries again, stated only
    where that can help."""
    results = list(results)
    unscored = {
        (result.task, result.metric): _lost(result)
        for result in results
        if not result.slice
    }
    run_of = {
        run.task.name: (run, chosen) for run, chosen in zip(runs, wanted, strict=True)
    }
    alike: dict[tuple[str, str], list[Unexplained]] = {}
    for result in results:
        run, chosen = run_of[result.task]
        bound = _giving(run, result.metric)
        pieces = sum(unscored.get((result.task, name), 0) for name in bound.pieces)
        if (
            _lost(result) > pieces
            and not (result.slice or result.suspended)
            and run.scores is not None
        ):
            found = unscored_reasons(run.scores, chosen, result.metric)
            advice = _advice(result, found, bound.metric.switches, way)
            kind = (
                max(kinds.items(), key=lambda item: item[1].total())[0]
                if (kinds := _kinds(found))
                else ""
            )
            alike.setdefault((kind, advice), []).append(Unexplained(result, found))
    for (_, advice), lacking in alike.items():
        yield (
            f"{_told_together(lacking)}; the reasons are in {folder / 'scores'}{advice}"
        )


def _lost(result: Result) -> int:
    """The unscored trials but for the refused answers that the user leaves out."""
    return result.unscored - result.refused_unscored


class Unexplained(NamedTuple):
    """A number that lacks trials, and why it lacks them."""

    result: Result
    found: Counter[Unscored]


def _told_together(lacking: Sequence[Unexplained]) -> str:
    """Numbers that lack trials for one cause, by task."""
    reason = most_frequent(sum((one.found for one in lacking), Counter()))
    if len(lacking) == 1:
        (result, _) = lacking[0]
        return (
            f"{result.task}: {_lost(result)} of {result.n} unscored by "
            f"{result.metric}{reason}"
        )
    shares: dict[str, list[str]] = {}
    for result, _ in lacking:
        shares.setdefault(result.task, []).append(
            f"{_lost(result)} of {result.n} by {result.metric}"
        )
    told = (f"{task} {', '.join(said)}" for task, said in shares.items())
    return f"unscored{reason}: {'; '.join(told)}"


def _giving(run: TaskRun, output: str) -> BoundMetric:
    """The metric that gives a number."""
    return next(
        metric.bound
        for metric in run.task.metrics
        if output in metric.bound.metric.outputs
    )


def _advice(
    result: Result, found: Counter[Unscored], switches: Collection[str], way: str
) -> str:
    """Advice for a number's unscored trials; one without a reason was not scored
    yet."""
    counts: Counter[Cause] = Counter()
    for why, count in found.items():
        counts[why.cause] += count
    hopeless = counts["unsure"] + counts["final"] + counts["refused"]
    lost = _lost(result) - hopeless
    said = []
    if lost:
        said.append(
            f"to try {'' if lost == _lost(result) else f'{lost} of them '}again, {way}"
        )
    if counts["unsure"]:
        ways = [words for switch, words in _FOR_THE_UNSURE if switch in switches]
        said.append(f"where the judge is not sure, {'; '.join((*ways, _TOLERATED))}")
    elif not lost:
        said.append(f"they stay unscored when they are tried again; {_TOLERATED}")
    return "".join(f"; {words}" for words in said)


def most_frequent(found: Counter[Unscored]) -> str:
    """The most frequent reason, in brackets; numbers and quotes make no difference."""
    kinds = _kinds(found)
    if not kinds:
        return ""
    most = max(kinds.values(), key=Counter.total)
    said = " ".join(most.most_common(1)[0][0].split())
    said = said if len(said) <= MAX_REASON_CHARS else _shortened(said)
    example = "" if len(most) == 1 else "for example, "
    return (
        f" ({example}{said})"
        if len(kinds) == 1
        else f" ({most.total()} of them: {example}{said})"
    )


def _kinds(found: Counter[Unscored]) -> dict[str, Counter[str]]:
    """The reasons by kind."""
    kinds: dict[str, Counter[str]] = {}
    for why, number in found.items():
        if why.reason:
            kinds.setdefault(_QUOTED.sub("", why.reason), Counter())[why.reason] += (
                number
            )
    return kinds


def _shortened(reason: str) -> str:
    """The beginning of a reason, and what it says to do about the files of a model."""
    if way := _HOW_TO_FIX.search(reason, max(0, len(reason) - _LONGEST_ADVICE)):
        cut = "" if way.start() <= MAX_REASON_CHARS else "..."
        return reason[: min(way.start(), MAX_REASON_CHARS)] + cut + way[0]
    return reason[:MAX_REASON_CHARS] + "..."


def unread_complaints(
    runs: Sequence[TaskRun], wanted: Sequence[Wanted], folder: Path
) -> Iterator[str]:
    """A line for each switch that makes unread replies count, over all tasks. They are
    in the scores' evidence (``mmeval.judge.verdict.UNREAD``); rows are read only where
    a metric has it."""
    for (switch, value), worth in COUNTED.items():
        found: dict[str, int] = {}
        for run, chosen in zip(runs, wanted, strict=True):
            counting = [
                metric.bound
                for metric in run.task.metrics
                if metric.bound.params.get(switch) == value
            ]
            names = [name for bound in counting for name in bound.metric.outputs]
            if run.scores is not None and names:
                rows = finished_rows(run.scores.folder, chosen)
                found[run.task.name] = sum(
                    _unread(row["scores"].get(name)) for row in rows for name in names
                )
        if total := sum(found.values()):
            counts = (f"{name} {count:,}" for name, count in found.items() if count)
            yield (
                f"{total:,} {'reply' if total == 1 else 'replies'} of the judge could "
                "not be read and "
                f"{'counts' if total == 1 else 'count'} as {worth}, as {switch}: "
                f"{value} (profile official) has it: "
                f"{', '.join(counts)}; the judge's words are in {folder / 'scores'}"
            )


def _unread(said: Any) -> int:
    """What evidence of JSON says, with all that it holds."""
    if isinstance(said, dict):
        own = said.get(UNREAD)
        return (own if isinstance(own, int) else 0) + sum(map(_unread, said.values()))
    return sum(map(_unread, said)) if isinstance(said, list) else 0


def nothing_to_score(
    runs: Sequence[TaskRun], wanted: Sequence[Wanted], results: Iterable[Result]
) -> Iterator[str]:
    """For tasks without any number, one line a metric with nothing to score: its
    reason, the tasks. Of a task's rows only those up to the first reason are read."""
    whole = [result for result in results if not result.slice]
    with_numbers = {result.task for result in whole if result.scored}
    numbers: dict[str, list[str]] = {}
    for result in whole:
        if result.has_nothing_to_score and result.task not in with_numbers:
            numbers.setdefault(result.task, []).append(result.metric)
    told: dict[tuple[str, str], list[str]] = {}
    for run, chosen in zip(runs, wanted, strict=True):
        names = numbers.get(run.task.name, ())
        if run.scores is not None and names:
            for name, reason in _reasons(run.scores.folder, chosen, names):
                told.setdefault((name, reason), []).append(run.task.name)
    for (name, reason), tasks in told.items():
        yield (
            f"{', '.join(tasks)}: nothing to score by {name} (of every answer: "
            f"{reason})"
        )


def _reasons(
    folder: Path, wanted: Wanted, names: Collection[str]
) -> Iterator[tuple[str, str]]:
    """The first reason of each number."""
    left = dict.fromkeys(names)
    for row in finished_rows(folder, wanted):
        for name in list(left):
            if score := row["scores"].get(name):
                yield name, str(score.get("reason", ""))
                del left[name]
        if not left:
            return
