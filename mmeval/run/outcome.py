"""What came of a run: results over its score sets, the complaints, and the exit code that tells the truth."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from mmeval.dataset.bad_sample import BadSamples
from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK
from mmeval.records.response import HOPELESS
from mmeval.records.score import Cause, Result
from mmeval.results.task_results import TaskNumbers, Unscored, task_results, unscored_reasons
from mmeval.run.options import RunCounts, RunOutcome
from mmeval.run.tally import Tally
from mmeval.run.task_run import TaskRun
from mmeval.scoring.scorer import Scorer
from mmeval.scoring.verdict_log import Served, served_versions
from mmeval.store.paths import Wanted
from mmeval.wording import counted

MAX_REASONS = 10
"""Reasons for unsupported trials that are told one by one."""
MAX_REASON_CHARS = 200


def finished_results(
    runs: Sequence[TaskRun],
    wanted: Sequence[Wanted],
    scorer: Scorer | None,
    *,
    bootstrap_iters: int,
    suspended: Mapping[str, Collection[str]],
) -> list[Result]:
    """Put the score rows in order and make the numbers of every task, over the trials that are wanted.

    They are made where the scoring happened, so that this process need not import what they take; without a ``scorer``
    nothing was scored. ``suspended`` names, by task, the numbers that the loss of a judge leaves without a value.
    """
    made: list[Callable[[], list[Result]]] = []
    for run, chosen in zip(runs, wanted, strict=True):
        run.records.close()
        if run.scores is not None:
            run.scores.finish()
            numbers, folder, lost = TaskNumbers.of(run.task), run.scores.folder, suspended.get(run.task.name, ())
            made.append(partial(task_results, numbers, folder, chosen, lost, bootstrap_iters=bootstrap_iters))
    return [result for results in (scorer.compute(made) if scorer else ()) for result in results]


def score_folders(runs: Sequence[TaskRun]) -> dict[str, Path]:
    return {run.task.name: run.scores.folder for run in runs if run.scores is not None}


def judge_versions(runs: Sequence[TaskRun]) -> dict[str, list[Served]]:
    """By task, who judged; tasks without a judged metric are left out."""
    return {run.task.name: served_versions(run.scores.folder) for run in runs if run.judged and run.scores is not None}


def worst_unscored(results: Iterable[Result]) -> int:
    """Trials that lack a score by the metric that lacks most, summed over tasks."""
    worst: dict[str, int] = {}
    for result in results:
        if not result.slice:
            worst[result.task] = max(result.unscored, worst.get(result.task, 0))
    return sum(worst.values())


def exit_code(counts: RunCounts, tolerated: float) -> int:
    """0, or 3 when more was lost than ``--max_unscored`` (a count, or a share below 1) tolerates, or when not a single
    trial could be asked."""
    if _none_asked(counts):
        return EXIT_INCOMPLETE
    total = counts.kept + counts.new + counts.failed
    limit = round(tolerated * total, 9) if tolerated < 1 else tolerated  # 0.29 of 100 is 29, not a hair less
    return EXIT_INCOMPLETE if counts.failed + counts.unscored > math.floor(limit) else EXIT_OK


def _none_asked(counts: RunCounts) -> bool:
    return counts.unsupported > 0 and not counts.kept + counts.new + counts.failed


def last_line(outcome: RunOutcome) -> str:
    """The last line of a run that does not end with 0, which says why; empty for every other."""
    if outcome.error:
        return f"error: {outcome.error}"
    if outcome.exit_code != EXIT_INCOMPLETE:
        return ""
    counts = outcome.counts
    lost = [f"{counted(counts.failed, 'trial')} failed"] if counts.failed else []
    lost += [f"{counts.unscored:,} unscored"] if counts.unscored else []
    why = "no trial could be asked" if _none_asked(counts) else ", ".join(lost) or "scoring was suspended"
    return f"exit code {EXIT_INCOMPLETE}: {why}; the warnings above say why, and what to do"


def unasked_complaints(counts: RunCounts) -> Iterator[str]:
    """Why a run without any failure has no number, where not a single trial could be asked."""
    if _none_asked(counts):
        none = (
            "the only trial could not"
            if counts.unsupported == 1
            else f"none of the {counts.unsupported:,} trials could"
        )
        yield f"{none} be asked, so there is no number: exit code {EXIT_INCOMPLETE}"


def unscored_complaints(
    runs: Sequence[TaskRun],
    wanted: Sequence[Wanted],
    results: Iterable[Result],
    folder: Path,
    *,
    way: str,
) -> Iterator[str]:
    """The numbers that lack trials, with the most frequent reason; those that lack them for one cause in one line. The
    rows are read again only for these. Numbers that are suspended are told elsewhere, and so is what a derived one
    lacks because its pieces do. ``way`` is what tries again, said only where that can help."""
    results = list(results)
    unscored = {(result.task, result.metric): result.unscored for result in results if not result.slice}
    run_of = {run.task.name: run for run in runs}
    wanted_of = {run.task.name: chosen for run, chosen in zip(runs, wanted, strict=True)}
    alike: dict[tuple[str, str], list[Unexplained]] = {}
    for result in results:
        scores, chosen = run_of[result.task].scores, wanted_of[result.task]
        pieces = sum(unscored.get((result.task, name), 0) for name in _pieces_of(run_of[result.task], result.metric))
        if result.unscored > pieces and not (result.slice or result.suspended) and scores is not None:
            found = unscored_reasons(scores, chosen, result.metric)
            advice = _advice(result, found, _switches_of(run_of[result.task], result.metric), way)
            kind = max(kinds.items(), key=lambda item: item[1].total())[0] if (kinds := _kinds(found)) else ""
            alike.setdefault((kind, advice), []).append(Unexplained(result, found))
    for (_, advice), lacking in alike.items():
        yield f"{_told_together(lacking)}; the reasons are in {folder / 'scores'}{advice}"


class Unexplained(NamedTuple):
    """A number that lacks trials, and why it lacks them."""

    result: Result
    found: Counter[Unscored]


def _told_together(lacking: Sequence[Unexplained]) -> str:
    """Numbers that lack trials for one cause, by task."""
    reason = most_frequent(sum((one.found for one in lacking), Counter()))
    if len(lacking) == 1:
        (result, _) = lacking[0]
        return f"{result.task}: {result.unscored} of {result.n} unscored by {result.metric}{reason}"
    shares: dict[str, list[str]] = {}
    for result, _ in lacking:
        shares.setdefault(result.task, []).append(f"{result.unscored} of {result.n} by {result.metric}")
    told = (f"{task} {', '.join(said)}" for task, said in shares.items())
    return f"unscored{reason}: {'; '.join(told)}"


def _pieces_of(run: TaskRun, output: str) -> Collection[str]:
    """The outputs of which a number is made, where it is a derived one."""
    bounds = (metric.bound for metric in run.task.metrics)
    return next((bound.pieces for bound in bounds if output in bound.metric.outputs), ())


def _switches_of(run: TaskRun, output: str) -> Collection[str]:
    """The switches of the metric that gives a number."""
    bounds = (metric.bound for metric in run.task.metrics)
    return next((bound.metric.switches for bound in bounds if output in bound.metric.outputs), ())


def _advice(result: Result, found: Counter[Unscored], switches: Collection[str], way: str) -> str:
    """What can be done for the unscored trials of a number. A trial without any reason was not scored yet."""
    counts: Counter[Cause] = Counter()
    for why, count in found.items():
        counts[why.cause] += count
    lost = result.unscored - counts["unsure"] - counts["final"]
    said = []
    if lost:
        said.append(f"to try {'' if lost == result.unscored else f'{lost} of them '}again, {way}")
    if counts["unsure"]:
        ways = [words for switch, words in _FOR_THE_UNSURE if switch in switches]
        said.append(f"where the judge is not sure, {'; '.join((*ways, _TOLERATED))}")
    elif not lost:
        said.append(f"they stay unscored when they are tried again; {_TOLERATED}")
    return "".join(f"; {words}" for words in said)


_FOR_THE_UNSURE = (
    ("not_sure", "the switch not_sure gives a value"),
    ("repeats", "a larger switch repeats may find a majority"),
)
"""What a judged metric may offer for a trial of which its judge is not sure, by the switch."""
_TOLERATED = "--max_unscored says how many are tolerated"


def most_frequent(found: Counter[Unscored]) -> str:
    """The reason of most, in brackets; reasons that differ only in numbers and in what they quote are of one kind."""
    kinds = _kinds(found)
    if not kinds:
        return ""
    most = max(kinds.values(), key=Counter.total)
    said = " ".join(most.most_common(1)[0][0].split())
    said = said if len(said) <= MAX_REASON_CHARS else _shortened(said)
    example = "" if len(most) == 1 else "for example, "
    return f" ({example}{said})" if len(kinds) == 1 else f" ({most.total()} of them: {example}{said})"


def _kinds(found: Counter[Unscored]) -> dict[str, Counter[str]]:
    """The reasons by kind."""
    kinds: dict[str, Counter[str]] = {}
    for why, number in found.items():
        if why.reason:
            kinds.setdefault(_QUOTED.sub("", why.reason), Counter())[why.reason] += number
    return kinds


def _shortened(reason: str) -> str:
    """The beginning of a reason, and what it says to do about the files of a model."""
    if way := _WAY_OUT.search(reason):
        cut = "" if way.start() <= MAX_REASON_CHARS else "..."
        return reason[: min(way.start(), MAX_REASON_CHARS)] + cut + way[0]
    return reason[:MAX_REASON_CHARS] + "..."


_WAY_OUT = re.compile(r"; (?:delete \S.{,1000}mmeval prepare|put (?:all|the) .{,80}there).{,200}$")


_QUOTED = re.compile(r"""(?<!\w)(?:'[^']*'|"[^"]*"|['"].*)|\d+""", re.DOTALL)
"""What a reason quotes, to its end where the quotation was cut, and numbers."""


def _bad_complaints(bad: BadSamples, *, again: str) -> Iterator[str]:
    """The samples that cannot be asked, by name, and the way out. Sending them again would change nothing."""
    if bad.count:
        yield f"{bad.said} (bad_sample); correct the data, then {again} asks the rest, and what is answered is kept"
        yield from bad.lines()


def lost_complaints(tally: Tally, *, again: str) -> Iterator[str]:
    """What was not answered. ``again`` is what asks for it again, said only where that can help."""
    yield from _bad_complaints(tally.bad, again=again)
    if failed := tally.failed - Counter(bad_sample=tally.bad.trials):
        kinds = ", ".join(f"{kind} {count}" for kind, count in failed.most_common())
        hopeless = sum(count for kind, count in failed.items() if kind in HOPELESS)
        if not hopeless:
            advice = f"{again} asks them again"
        elif hopeless == failed.total():
            advice = f"they fail again when they are asked again, unless what is wrong is corrected; {_TOLERATED}"
        else:
            advice = f"{again} asks them again, which helps {hopeless} of them only when what is wrong is corrected"
        yield f"{counted(failed.total(), 'trial')} failed ({kinds}); {advice}"
        for kind, message in tally.examples.items():
            yield f"the first {kind} failure: {message}"
    for kinds, count in tally.partial.most_common():
        yield f"{counted(count, 'trial')} asked without {kinds}, which the model does not give, and scored on the rest"
    reasons = tally.unsupported.most_common()
    for reason, count in reasons[:MAX_REASONS]:
        yield f"{counted(count, 'trial')} not asked: {reason}"
    if rest := sum(count for _, count in reasons[MAX_REASONS:]):
        others = len(reasons) - MAX_REASONS
        yield f"{counted(rest, 'trial')} not asked for {others} other reasons; --log_samples lists them"
