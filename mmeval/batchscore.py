"""Batched metrics: many answers in one call, so that a bad one costs only itself and a full device costs nothing.

A batch that raises is scored answer by answer. One for which an accelerator has not enough memory is halved, and the
size that fitted is remembered for the rest of the process.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mmeval.errors import PluginError, is_out_of_memory
from mmeval.records import Trial
from mmeval.timelimit import TimeLimit

if TYPE_CHECKING:
    from mmeval.boundmetric import BoundMetric
    from mmeval.metricresult import MetricScores

NO_LIMIT = TimeLimit(math.inf)
_FITTED: dict[str, int] = {}
"""The largest batch by the key of a metric, where memory ran out for a larger one."""


def score_all(bound: BoundMetric, trials: Sequence[Trial], limit: TimeLimit = NO_LIMIT) -> list[MetricScores]:
    """The scores of each trial by a batched metric, in order."""
    found: list[MetricScores] = []
    while len(found) < len(trials):
        size = min(_FITTED.get(bound.key, bound.metric.batch), len(trials) - len(found))
        piece = trials[len(found) : len(found) + size]
        try:
            found += _timed(bound, piece, limit)
        except (Exception, SystemExit) as error:  # a metric may fail in any way; the reason is recorded
            found += _after(error, bound, piece, limit)
    return found


def _after(
    error: BaseException, bound: BoundMetric, piece: Sequence[Trial], limit: TimeLimit
) -> Sequence[MetricScores]:
    """What follows when a batch has raised: nothing yet where a smaller one is tried, else the scores."""
    if isinstance(error, PluginError):
        return [bound.failed(error) for _ in piece]
    if is_out_of_memory(error):
        _release_memory()
        if len(piece) > 1:
            _FITTED[bound.key] = len(piece) // 2
            return []
        return [bound.failed(MemoryError(f"one answer needs more memory than there is ({error})"))]
    if len(piece) == 1:
        return [bound.failed(error)]
    return [scores for trial in piece for scores in score_all(bound, [trial], limit)]


def _timed(bound: BoundMetric, trials: Sequence[Trial], limit: TimeLimit) -> list[MetricScores]:
    """One call, in the time that as many answers have. Raises PluginError for another number of scores."""
    limit.begin(len(trials))
    try:
        given: Any = bound.metric.function(list(trials), **bound.params)
    finally:
        limit.end()
    if isinstance(given, str | Mapping) or not hasattr(given, "__iter__"):
        raise PluginError(f"the metric {bound.name!r} is batched: it must return a list, not a {type(given).__name__}")
    results = list(given)
    if len(results) != len(trials):
        raise PluginError(
            f"the metric {bound.name!r} was given {len(trials)} trials and returned {len(results)} scores; it must "
            "return one for each, in order"
        )
    return [_normalised(bound, result) for result in results]


def _normalised(bound: BoundMetric, result: Any) -> MetricScores:
    try:
        return bound.normalise(result)
    except (PluginError, ArithmeticError, RuntimeError, TypeError, ValueError) as error:  # the others have theirs
        return bound.failed(error)


def _release_memory() -> None:
    """Let an accelerator give back what nobody holds."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
