"""Findings of a finished run: missing answers and scores, and limits of its numbers.

Answers are missing because of unreadable data and failed trials. Numbers have limits if
unreadable replies count as a score, if values are missing, or if a run took only a
subset of the samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from mmeval.dataset.sampling import FEWER
from mmeval.findings.finding import Finding, Kind, Subject
from mmeval.findings.from_error import finding_of
from mmeval.metric.bound import BoundMetric
from mmeval.metric.judge.verdict import UNREAD
from mmeval.metric.scoring.score_set import finished_rows
from mmeval.records.response import HOPELESS
from mmeval.records.score import Result
from mmeval.results.prompt_words import words_findings
from mmeval.results.task_results import UnscoredReasons, in_evidence, unscored_reasons
from mmeval.run.data_size import FEWER_SAMPLES
from mmeval.run.jobs import DataFault
from mmeval.run.options import RunOutcome
from mmeval.run.progress import RunTally
from mmeval.run.task_run import TaskRun
from mmeval.store.paths import TrialFilter

MAX_REASONS = 5
"""Number of reasons that are stated per number; the others are counted."""
OTHERS = "other reasons"
FLAGS_OF_CHOICE = {"shuffle": "sample_shuffle"}
"""Maps names in records to flags that choose samples, if the two names differ."""
_FOR_THE_UNSURE = {
    "not_sure": "the switch not_sure gives a value",
    "repeats": "a larger switch repeats may find a majority",
}
"""Advice about unsure verdicts, by the switch of a judged metric that helps."""
COUNTED: Mapping[tuple[str, str], str] = {
    ("lost", "wrong"): "wrong",
    ("judge_failure", "lowest"): "the lowest grade",
    (
        "rubric",
        "dimensions",
    ): "the end of the scale, or the middle if they contain no number",
    ("rubric", "overall"): "the end of the scale",
}
"""How an unreadable reply is scored, by a switch and its value."""


def data_faults(faults: Mapping[str, DataFault]) -> Iterator[Finding]:
    """Yields findings for tasks whose data cannot be read to the end."""
    for task, fault in faults.items():
        finding = finding_of(fault.error, Subject(task))
        is_of_data = finding.kind in ("bad_sample", "setting")
        kind: Kind = "task_file" if is_of_data else finding.kind
        progress = f"trials made: {fault.made:,}"
        cause = f"the data cannot be read further ({progress}): {finding.cause}"
        yield replace(finding, kind=kind, cause=cause)


def lost_answers(tally: RunTally, again: str) -> Iterator[Finding]:
    """Yields findings for trials without an answer.

    ``again`` is the command that repeats the requests. Findings contain it only if that
    can help.
    """
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
    """Yields findings for trials that the model does not support, or not fully."""
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
    """Yields findings for numbers that are not comparable with those of a paper.

    Then it yields findings for numbers of a subset of the samples.
    """
    for task in outcome.selection:
        causes: list[tuple[str, str]] = []
        if task.config.get("data") == "bundled":
            causes.append(("", "bundled samples are not the benchmark's"))
        for metric in task.metrics:
            if not metric.bound.comparable:
                cause = "the metric or its data replace those of the benchmark"
                causes.append((metric.bound.name, cause))
        for name, cause in causes:
            subject = Subject(task.name, name)
            yield Finding("not_comparable", subject, cause=cause, severity="note")
    prompts = chain.from_iterable(task.prompts for task in outcome.selection)
    yield from words_findings([*prompts, *outcome.agent_prompts])
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
    """Yields findings for numbers with unscored trials, by reason.

    Rows are read only for these numbers. Suspended numbers and missing pieces of
    derived numbers are reported elsewhere. ``again`` is the command that tries again.
    Findings contain it only if that can help.
    """
    whole = [result for result in results if not result.slice]
    unscored_counts = {
        (result.task, result.metric): _unscored_count(result) for result in whole
    }
    run_of = {run.task.name: run for run in runs}
    metric_of: dict[tuple[str, str], BoundMetric] = {}
    for run in runs:
        for metric in run.task.metrics:
            for output in metric.bound.metric.outputs:
                metric_of.setdefault((run.task.name, output), metric.bound)
    for result in whole:
        run = run_of[result.task]
        bound = metric_of[result.task, result.metric]
        of_pieces = sum(
            unscored_counts.get((result.task, name), 0) for name in bound.pieces
        )
        has_own_unscored = _unscored_count(result) > of_pieces and not result.suspended
        if has_own_unscored and run.scores is not None:
            trial_filter = chosen[result.task]
            reasons = unscored_reasons(run.scores, trial_filter, result.metric)
            yield from _findings_by_reason(result, reasons, bound, again)


def _unscored_count(result: Result) -> int:
    """Returns the number of unscored trials.

    Refused answers that the user excludes are not included.
    """
    return result.unscored - result.refused_unscored


def _findings_by_reason(
    result: Result, reasons: UnscoredReasons, bound: BoundMetric, again: str
) -> Iterator[Finding]:
    subject = Subject(result.task, result.metric)
    most_common = reasons.counts.most_common(MAX_REASONS)
    unexplained = _unscored_count(result) - sum(count for _, count in most_common)
    for reason, count in most_common:
        cause = reason.reason
        if reason.cause == "unsure":
            for switch, words in _FOR_THE_UNSURE.items():
                if switch in bound.metric.switches:
                    cause += f"; {words}"
        yield Finding(
            "refused" if reason.cause == "refused" else "unscored",
            subject,
            count,
            result.n,
            cause=cause,
            remedy=again if reason.cause == "lost" else "",
            severity="error",
            example=reasons.replies.get(reason, ""),
        )
    if unexplained > 0:
        cause = OTHERS if most_common else "not scored yet"
        yield Finding(
            "unscored", subject, unexplained, result.n, cause, again, severity="error"
        )


def unread_replies(
    runs: Sequence[TaskRun], chosen: Mapping[str, TrialFilter]
) -> Iterator[Finding]:
    """Yields findings for unreadable judge replies that a switch counts as a score.

    The evidence of scores records such replies
    (``mmeval.metric.judge.verdict.UNREAD``). Rows are read only for metrics with such a
    switch.
    """
    for (switch, value), counted_as in COUNTED.items():
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
                        count += sum(item for item in unread if isinstance(item, int))
                if count:
                    yield Finding(
                        "unread_reply",
                        Subject(run.task.name, bound.name),
                        count,
                        cause=f"counted as {counted_as} ({switch}: {value})",
                    )


def nothing_to_score(
    runs: Sequence[TaskRun],
    chosen: Mapping[str, TrialFilter],
    results: Iterable[Result],
) -> Iterator[Finding]:
    """Yields findings for metrics with nothing to score, in tasks without any value.

    Rows are read until each metric has a reason.
    """
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
    """Yields each number once, with the reason that the first of its rows states."""
    remaining = dict.fromkeys(names)
    for row in finished_rows(folder, trial_filter):
        for name in list(remaining):
            if score := row["scores"].get(name):
                yield name, str(score.get("reason", ""))
                del remaining[name]
        if not remaining:
            return
