"""Applies a metric to trials, one by one or in batches.

A metric that raises leaves its trial unscored. A batch that raises is scored answer by
answer. One for which an accelerator has not enough memory is halved, and the size that
fitted is remembered for the rest of the process."""

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
"""Errors of a metric that may not come back when it scores the same answer again."""
NO_LIMIT = TimeLimit(math.inf)
_FITTED: dict[str, int] = {}
"""The largest batch by the key of a metric, where memory ran out for a larger one."""


def _not_asked(bound: BoundMetric, trial: Trial) -> MetricScores:
    """The scores of a metric that reads only a kind of part that the model was not
    asked for; else empty."""
    kind = bound.metric.looks_at
    if kind is None or kind not in trial.left_out:
        return {}
    reason = f"the model gives no {kind} and was not asked for it"
    return dict.fromkeys(bound.metric.outputs, Score.inapplicable(reason))


def score_one(bound: BoundMetric, trial: Trial) -> MetricScores:
    """The scores of a trial. A metric that raises leaves it unscored, with the
    reason."""
    if bound.filters or bound.metric.batch:
        return score_all(bound, [trial])[0]
    return _not_asked(bound, trial) or _scores(bound, trial)


def score_derived(bound: BoundMetric, scores: MetricScores) -> MetricScores:
    """A derived metric's scores by its pieces'; unscored with the reason if it
    raises."""
    return _scores(bound, scores)


def _scores(bound: BoundMetric, given: Trial | MetricScores) -> MetricScores:
    try:
        return scores_of(bound.metric.function(given, **bound.params), bound.metric)
    # a metric may fail in any way; the reason is recorded
    except (Exception, SystemExit) as error:
        return failed(bound, error)


def score_judged(
    bound: BoundMetric, trial: Trial, role: Callable[[str], Role]
) -> Program[MetricScores]:
    """The scores of a trial by a judged metric, as a program."""
    if inapplicable := _not_asked(bound, trial):
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
    """The scores of each trial, in order; by a batched metric many at once.
    Where it raises, only the answer that makes it raise is unscored."""
    if bound.unfiltered is not None:
        return _filtered(bound, bound.unfiltered, trials, limit)
    if not bound.metric.batch:
        return [score_one(bound, trial) for trial in trials]
    unasked = [_not_asked(bound, trial) for trial in trials]
    if any(unasked):
        asked = [trial for trial, own in zip(trials, unasked, strict=True) if not own]
        rest = iter(score_all(bound, asked, limit))
        return [own or next(rest) for own in unasked]
    found: list[MetricScores] = []
    while len(found) < len(trials):
        size = _FITTED.get(bound.key, bound.metric.batch)
        piece = trials[len(found) : len(found) + size]
        try:
            found += _timed(bound, piece, limit)
        # a metric may fail in any way; the reason is recorded
        except (Exception, SystemExit) as error:
            found += _after(error, bound, piece, limit)
    return found


def _filtered(
    bound: BoundMetric,
    unfiltered: BoundMetric,
    trials: Sequence[Trial],
    limit: TimeLimit,
) -> list[MetricScores]:
    """The scores of each trial, for each filter of answers."""
    found: list[dict[str, Score]] = [{} for _ in trials]
    for pipeline in bound.filters:
        most = math.inf if pipeline.answers is None else pipeline.answers
        read = [place for place, trial in enumerate(trials) if trial.repeat < most]
        filtered = [pipeline.applied(trials[place]) for place in read]
        scores = dict(zip(read, score_all(unfiltered, filtered, limit), strict=True))
        left_out = Score.inapplicable(
            f"the filter {pipeline.name} reads the first {most} of a sample's answers"
        )
        for place, trial in enumerate(trials):
            words = "" if trial.output is None else trial.output.text
            ballot = pipeline.ballot(words)
            for output in unfiltered.metric.outputs:
                score = scores[place][output] if place in scores else left_out
                if ballot is not None and score.status == "scored":
                    evidence = {**score.evidence, BALLOT: ballot}
                    score = replace(score, evidence=evidence)
                found[place][pipeline.output(output)] = score
    return list(found)


def _after(
    error: BaseException, bound: BoundMetric, piece: Sequence[Trial], limit: TimeLimit
) -> Sequence[MetricScores]:
    """The scores of a batch that raised; none yet where a smaller batch is tried."""
    if isinstance(error, PluginError):
        return [failed(bound, error) for _ in piece]
    if is_out_of_memory(error):
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(piece) > 1:
            _FITTED[bound.key] = len(piece) // 2
            return []
        error = MemoryError(f"one answer needs more memory than there is ({error})")
    if len(piece) == 1:
        return [failed(bound, error)]
    scores: list[MetricScores] = []
    for trial in piece:
        scores += score_all(bound, [trial], limit)
    return scores


def _timed(
    bound: BoundMetric, trials: Sequence[Trial], limit: TimeLimit
) -> list[MetricScores]:
    """One call with its time limit. Raises PluginError for another number of scores."""
    limit.begin(len(trials))
    try:
        given: Any = bound.metric.function(list(trials), **bound.params)
    finally:
        limit.end()
    if isinstance(given, str | Mapping) or not hasattr(given, "__iter__"):
        raise PluginError(
            f"the metric {bound.name!r} is batched: it must return a list, not a "
            f"{type(given).__name__}"
        )
    results = list(given)
    if len(results) != len(trials):
        raise PluginError(
            f"the metric {bound.name!r} was given {len(trials)} trials and returned "
            f"{len(results)} scores; it must "
            "return one for each, in order"
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
        ) as error:  # the others have theirs
            scores.append(failed(bound, error))
    return scores


def failed(bound: BoundMetric, error: BaseException) -> MetricScores:
    """The scores of a trial on which the metric raised."""
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, (*PASSING, WeightsError)):  # they may be corrected
        return bound.lost(reason)
    if isinstance(error, MmevalError):
        return bound.unscored(reason)
    return bound.unscored(
        reason + raised_at(error, __file__, scores_of.__code__.co_filename)
    )
