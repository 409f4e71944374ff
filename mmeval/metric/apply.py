"""Applies a metric to trials, one by one or in batches.

If a metric raises an exception, the trial is unscored. If a batch raises an exception,
its answers are scored one by one. If memory runs out, the batch is halved, and the
smaller size is used for the rest of the process.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmeval.errors import MmevalError, PluginError, is_out_of_memory, raised_at
from mmeval.metric.answer_filter import BALLOT
from mmeval.metric.bound import BoundMetric
from mmeval.metric.model_files_error import WeightsError
from mmeval.metric.result import MetricScores, scores_of
from mmeval.program.calls import Program, Role
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.system.time_limit import TimeLimit

PASSING = (TimeoutError, ConnectionError, MemoryError)
"""Temporary errors, after which scoring the same answer again may succeed."""
NO_LIMIT = TimeLimit(math.inf)
_FITTED: dict[str, int] = {}
"""The reduced batch size of each metric that ran out of memory, by the metric's key."""


def _inapplicable(bound: BoundMetric, trial: Trial) -> MetricScores:
    """Returns inapplicable scores if the only kind that the metric reads was not
    requested.

    Otherwise the mapping is empty.
    """
    kind = bound.metric.looks_at
    if kind is None or kind not in trial.left_out:
        return {}
    reason = f"the model cannot generate {kind}, so it was not requested"
    return dict.fromkeys(bound.metric.outputs, Score.inapplicable(reason))


def score_one(bound: BoundMetric, trial: Trial) -> MetricScores:
    """Returns the scores of a trial, unscored if the metric raises an exception."""
    if bound.filters or bound.metric.batch:
        return score_all(bound, [trial])[0]
    return _inapplicable(bound, trial) or _scores(bound, trial)


def score_derived(bound: BoundMetric, scores: MetricScores) -> MetricScores:
    """Returns the scores of a derived metric, unscored if it raises an exception."""
    return _scores(bound, scores)


def _scores(bound: BoundMetric, source: Trial | MetricScores) -> MetricScores:
    try:
        return scores_of(bound.metric.function(source, **bound.params), bound.metric)
    # A metric is plugin code and may raise any exception. The reason is recorded.
    except (Exception, SystemExit) as error:
        return failed(bound, error)


def score_judged(
    bound: BoundMetric, trial: Trial, role: Callable[[str], Role]
) -> Program[MetricScores]:
    """Scores a trial by a judged metric, as a program that yields calls."""
    if inapplicable := _inapplicable(bound, trial):
        return inapplicable
    roles = map(role, bound.roles)
    generator: Generator[Any, Any, Any] = bound.metric.function(
        trial, *roles, **bound.params
    )
    result = yield from generator
    return scores_of(result, bound.metric)


def score_all(
    bound: BoundMetric, trials: Sequence[Trial], limit: TimeLimit = NO_LIMIT
) -> list[MetricScores]:
    """Returns the scores of each trial, in order.

    A batched metric scores several trials at once.

    If the metric raises an exception, only the answer that causes it is unscored.
    """
    if bound.unfiltered is not None:
        return _filtered(bound, bound.unfiltered, trials, limit)
    if not bound.metric.batch:
        return [score_one(bound, trial) for trial in trials]
    inapplicable = [_inapplicable(bound, trial) for trial in trials]
    if any(inapplicable):
        applicable: list[Trial] = []
        for trial, scores in zip(trials, inapplicable, strict=True):
            if not scores:
                applicable.append(trial)
        rest = iter(score_all(bound, applicable, limit))
        return [scores or next(rest) for scores in inapplicable]
    results: list[MetricScores] = []
    while len(results) < len(trials):
        size = _FITTED.get(bound.key, bound.metric.batch)
        piece = trials[len(results) : len(results) + size]
        try:
            results += _timed(bound, piece, limit)
        # A metric is plugin code and may raise any exception. The reason is recorded.
        except (Exception, SystemExit) as error:
            results += _recover(error, bound, piece, limit)
    return results


def _filtered(
    bound: BoundMetric,
    unfiltered: BoundMetric,
    trials: Sequence[Trial],
    limit: TimeLimit,
) -> list[MetricScores]:
    """Returns the scores of each trial, for each filter of answers."""
    by_output: list[dict[str, Score]] = [{} for _ in trials]
    for pipeline in bound.filters:
        most = math.inf if pipeline.answers is None else pipeline.answers
        read = [place for place, trial in enumerate(trials) if trial.repeat < most]
        filtered = [pipeline.applied(trials[place]) for place in read]
        scores = dict(zip(read, score_all(unfiltered, filtered, limit), strict=True))
        left_out = Score.inapplicable(
            f"the filter {pipeline.name} reads only the first {most} answers to a "
            "sample"
        )
        for place, trial in enumerate(trials):
            words = "" if trial.output is None else trial.output.text
            ballot = pipeline.ballot(words)
            for output in unfiltered.metric.outputs:
                score = scores[place][output] if place in scores else left_out
                if ballot is not None and score.status == "scored":
                    evidence = {**score.evidence, BALLOT: ballot}
                    score = replace(score, evidence=evidence)
                by_output[place][pipeline.output(output)] = score
    return list(by_output)


def _recover(
    error: BaseException, bound: BoundMetric, piece: Sequence[Trial], limit: TimeLimit
) -> Sequence[MetricScores]:
    """Returns the scores of a batch for which the metric raised an exception.

    The result is empty if a smaller batch is tried next.
    """
    if isinstance(error, PluginError):
        return [failed(bound, error) for _ in piece]
    if is_out_of_memory(error):
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(piece) > 1:
            _FITTED[bound.key] = len(piece) // 2
            return []
        error = MemoryError(f"one answer needs more memory than is free ({error})")
    if len(piece) == 1:
        return [failed(bound, error)]
    scores: list[MetricScores] = []
    for trial in piece:
        scores += score_all(bound, [trial], limit)
    return scores


def _timed(
    bound: BoundMetric, trials: Sequence[Trial], limit: TimeLimit
) -> list[MetricScores]:
    """Returns the scores of a batch, computed within the time limit.

    Raises PluginError if the number of scores is wrong.
    """
    limit.begin(len(trials))
    try:
        returned: Any = bound.metric.function(list(trials), **bound.params)
    finally:
        limit.end()
    if isinstance(returned, str | Mapping) or not hasattr(returned, "__iter__"):
        raise PluginError(
            f"the batched metric {bound.name!r} must return a list, not a "
            f"{type(returned).__name__}"
        )
    results = list(returned)
    if len(results) != len(trials):
        raise PluginError(
            f"the metric {bound.name!r} returned {len(results)} scores for "
            f"{len(trials)} trials; it must return one score for each, in order"
        )
    scores = []
    for result in results:
        try:
            scores.append(scores_of(result, bound.metric))
        except (
            PluginError,
            ArithmeticError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:  # The other trials keep their scores.
            scores.append(failed(bound, error))
    return scores


def failed(bound: BoundMetric, error: BaseException) -> MetricScores:
    """Returns the scores of a trial for which the metric raised an exception."""
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, (*PASSING, WeightsError)):  # Scoring again may work.
        return bound.lost(reason)
    if isinstance(error, MmevalError):
        return bound.unscored(reason)
    return bound.unscored(
        reason + raised_at(error, __file__, scores_of.__code__.co_filename)
    )
