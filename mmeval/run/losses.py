"""What a finished run has lost, and what else its numbers leave open, as findings.

First what was not asked: data that cannot be read, trials that failed. Then what was
asked and has no score. Last what has a score that may surprise: replies that could not
be read and count, numbers of nothing, or of a part of the samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mmeval.dataset.sampling import FEWER
from mmeval.findings.finding import Finding, Kind, Subject
from mmeval.findings.from_error import finding_of
from mmeval.metric.bound import BoundMetric
from mmeval.metric.judge.verdict import UNREAD
from mmeval.metric.scoring.score_set import finished_rows
from mmeval.records.response import HOPELESS
from mmeval.records.score import Result
from mmeval.results.task_results import UnscoredReasons, in_evidence, unscored_reasons
from mmeval.run.data_size import FEWER_SAMPLES
from mmeval.run.jobs import DataFault
from mmeval.run.options import RunOutcome
from mmeval.run.progress import RunTally
from mmeval.run.task_run import TaskRun
from mmeval.store.paths import TrialFilter

MAX_REASONS = 5
"""Reasons of one number that are kept in words; the others are counted."""
OTHERS = "other reasons"
FLAGS_OF_CHOICE = {"shuffle": "sample_shuffle"}
"""The flags that chose samples, where records name them otherwise."""
_FOR_THE_UNSURE = {
    "not_sure": "the switch not_sure gives a value",
    "repeats": "a larger switch repeats may find a majority",
}
"""What a judged metric may offer for a trial of which its judge is not sure, by the
switch."""
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


def data_faults(faults: Mapping[str, DataFault]) -> Iterator[Finding]:
    """The tasks whose data cannot be read to their end."""
    for task, fault in faults.items():
        finding = finding_of(fault.error, Subject(task))
        is_of_data = finding.kind in ("bad_sample", "setting")
        kind: Kind = "task_file" if is_of_data else finding.kind
        cause = f"the data end here: {finding.cause}"
        yield replace(finding, kind=kind, count=fault.made, cause=cause)


def lost_answers(tally: RunTally, again: str) -> Iterator[Finding]:
    """The trials without an answer. ``again`` is the command that asks them again,
    stated where that can help."""
    yield from tally.bad.findings()
    failed = tally.failed - Counter(bad_sample=tally.bad.trials)
    for kind, count in failed.most_common():
        is_hopeless = kind in (*HOPELESS, "bad_sample")
        reasons = tally.reasons.get(kind, Counter()).most_common(MAX_REASONS)
        others = count - sum(number for _, number in reasons)
        if others > 0:
            reasons.append(("for other reasons", others))
        for reason, number in reasons:
            yield Finding(
                "failed",
                Subject(name=kind),
                number,
                tally.made,
                cause=reason,
                remedy="" if is_hopeless else again,
                severity="error",
            )


def unasked_findings(tally: RunTally) -> Iterator[Finding]:
    """The trials that the model could not be asked, whole or in part."""
    for kinds, count in tally.partial.most_common():
        yield Finding(
            "partial",
            count=count,
            of=tally.made,
            cause=f"the model does not give {kinds}",
            severity="note",
        )
    for reason, count in tally.unsupported.most_common():
        yield Finding("unsupported", count=count, of=tally.made, cause=reason)


def comparability_findings(outcome: RunOutcome) -> Iterator[Finding]:
    """What the numbers of a run are not: those of a paper, or of all samples."""
    for task in outcome.selection:
        causes: list[tuple[str, str]] = []
        if task.config.get("data") == "bundled":
            causes.append(("", "bundled samples are not the benchmark's"))
        for metric in task.metrics:
            if not metric.bound.comparable:
                cause = "the metric, or its data, stand in for the benchmark's"
                causes.append((metric.bound.name, cause))
        for name, cause in causes:
            subject = Subject(task.name, name)
            yield Finding("not_comparable", subject, cause=cause, severity="note")
    for name, subset in outcome.subsets.items():
        if not subset.partial:
            continue
        ways = [way for way in subset.how if way != FEWER]
        flags = [f"--{FLAGS_OF_CHOICE.get(way, way)}" for way in ways]
        if flags:
            cause = f"chosen by {', '.join(flags)}"
        else:
            cause = FEWER_SAMPLES if subset.how == (FEWER,) else "a part of the samples"
        yield Finding(
            "subset",
            Subject(name),
            subset.chosen,
            subset.of or 0,
            cause=cause,
            severity="note",
        )


def unscored_findings(
    runs: Sequence[TaskRun],
    chosen: Mapping[str, TrialFilter],
    results: Sequence[Result],
    *,
    again: str,
) -> Iterator[Finding]:
    """The numbers that lack trials, by reason. Rows are read only for these. Suspended
    numbers are reported elsewhere, and so is what a derived one lacks as its pieces do.
    ``again`` is the command that tries again, stated where that can help."""
    whole = [result for result in results if not result.slice]
    lost = {(result.task, result.metric): _lost(result) for result in whole}
    run_of = {run.task.name: run for run in runs}
    giving: dict[tuple[str, str], BoundMetric] = {}
    for run in runs:
        for metric in run.task.metrics:
            for output in metric.bound.metric.outputs:
                giving.setdefault((run.task.name, output), metric.bound)
    for result in whole:
        run = run_of[result.task]
        bound = giving[result.task, result.metric]
        of_pieces = sum(lost.get((result.task, name), 0) for name in bound.pieces)
        has_own = _lost(result) > of_pieces and not result.suspended
        if has_own and run.scores is not None:
            trial_filter = chosen[result.task]
            reasons = unscored_reasons(run.scores, trial_filter, result.metric)
            yield from _by_reason(result, reasons, bound, again)


def _lost(result: Result) -> int:
    """The unscored trials but for the refused answers that the user leaves out."""
    return result.unscored - result.refused_unscored


def _by_reason(
    result: Result, reasons: UnscoredReasons, bound: BoundMetric, again: str
) -> Iterator[Finding]:
    subject = Subject(result.task, result.metric)
    shown = reasons.counts.most_common(MAX_REASONS)
    unexplained = _lost(result) - sum(count for _, count in shown)
    for why, count in shown:
        cause = why.reason
        if why.cause == "unsure":
            for switch, words in _FOR_THE_UNSURE.items():
                if switch in bound.metric.switches:
                    cause += f"; {words}"
        yield Finding(
            "refused" if why.cause == "refused" else "unscored",
            subject,
            count,
            result.n,
            cause=cause,
            remedy=again if why.cause == "lost" else "",
            severity="error",
            example=reasons.replies.get(why, ""),
        )
    if unexplained > 0:
        cause = OTHERS if shown else "not scored yet"
        yield Finding(
            "unscored", subject, unexplained, result.n, cause, again, severity="error"
        )


def unread_replies(
    runs: Sequence[TaskRun], chosen: Mapping[str, TrialFilter]
) -> Iterator[Finding]:
    """The replies of judges that could not be read and count, as a switch has it. They
    are in the scores' evidence (``mmeval.metric.judge.verdict.UNREAD``); rows are read
    only where a metric has such a switch."""
    for (switch, value), worth in COUNTED.items():
        for run in runs:
            for metric in run.task.metrics:
                bound = metric.bound
                if run.scores is None or bound.params.get(switch) != value:
                    continue
                rows = finished_rows(run.scores.folder, chosen[run.task.name])
                names = bound.metric.outputs
                count = 0
                for row in rows:
                    for name in names:
                        unread = in_evidence(row["scores"].get(name), UNREAD)
                        count += sum(one for one in unread if isinstance(one, int))
                if count:
                    yield Finding(
                        "unread_reply",
                        Subject(run.task.name, bound.name),
                        count,
                        cause=f"counted as {worth} ({switch}: {value})",
                    )


def nothing_to_score(
    runs: Sequence[TaskRun],
    chosen: Mapping[str, TrialFilter],
    results: Iterable[Result],
) -> Iterator[Finding]:
    """The metrics with nothing to score of tasks without any number. Of a task's rows
    only those up to the first reason are read."""
    whole = [result for result in results if not result.slice]
    with_numbers = {result.task for result in whole if result.scored}
    numbers: dict[str, list[str]] = {}
    for result in whole:
        if result.has_nothing_to_score and result.task not in with_numbers:
            numbers.setdefault(result.task, []).append(result.metric)
    for run in runs:
        task = run.task.name
        names = numbers.get(task, ())
        if run.scores is not None and names:
            folder = run.scores.folder
            for name, reason in _first_reasons(folder, chosen[task], names):
                subject = Subject(task, name)
                cause = f"nothing to score: {reason}"
                yield Finding("unscored", subject, cause=cause, severity="note")


def _first_reasons(
    folder: Path, trial_filter: TrialFilter, names: Collection[str]
) -> Iterator[tuple[str, str]]:
    """The first reason of each number."""
    left = dict.fromkeys(names)
    for row in finished_rows(folder, trial_filter):
        for name in list(left):
            if score := row["scores"].get(name):
                yield name, str(score.get("reason", ""))
                del left[name]
        if not left:
            return
