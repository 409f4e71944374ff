"""A number that is made of averaged numbers of one task, such as the mean of two means.

No score of a single trial could give it, as other trials stand behind each of its
parts. What its parts have in common are the clusters of trials, so an error drawn part
by part would take them as independent: each draw is one for all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from mmeval.aggregate import statistics
from mmeval.aggregate.scores import Averaged, first_statuses
from mmeval.aggregate.statistics import Interval, Sureness
from mmeval.aggregate.summary import alike, askable
from mmeval.records.score import Result

_LOST = ("unsupported", "failed")
"""The statuses that a trial has by each part alike."""
_SKIPPING = (*_LOST, "unscored", "scored", "unavailable", "inapplicable")
_UNKNOWN = (*_LOST, "unavailable", "unscored", "scored", "inapplicable")
"""The statuses of a trial by the parts, of which the first counts as that by the
whole."""


def mean_of(
    task: str,
    name: str,
    parts: Sequence[Averaged],
    *,
    skip: bool,
    range: Interval,
    higher_is_better: bool = True,
    unavailable: bool = False,
    bootstrap_iters: int = 0,
) -> Result:
    """The mean of a task's numbers over the same trials; ``weights`` are the shares of
    those that count.

    A part of which no trial could have been scored (unsupported, faulty, unavailable,
    inapplicable) is left out with ``skip``, else the whole is unknown. A part whose
    trials were all lost (failed, unscored) leaves it unknown in any case: the bounds
    are what it could be. One whose answers or verdicts are all refused is left out of
    the value, and counts in the bounds. Where all answers hold nothing for a part, it
    is left out whatever failed.

    A trial counts as scored where it is by one part and lost by none. What is
    ``unavailable`` has no value; any numbers over the trials are its ``parts`` then.
    """
    applicable = [part for part in parts if not _is_empty(part.result)]
    refused = [part for part in applicable if part.result.is_refused_whole]
    counted = [
        part
        for part in applicable
        if askable(part.result) and not part.result.is_refused_whole
    ]
    bounded = [part for part in applicable if askable(part.result) + part.result.faulty]
    is_whole = skip or len(counted) + len(refused) == len(parts)
    suspended = any(part.result.suspended for part in parts)
    is_known = is_whole and not unavailable and not suspended
    value = _mean([part.result.value for part in counted]) if is_known else None
    clusters = len(set[str]().union(*(part.scores.clusters for part in counted)))
    sure = Sureness()
    if value is not None and clusters > 1:
        sure = _sureness(
            counted, value, clusters, skip=skip, range=range, iterations=bootstrap_iters
        )
    low, high = (
        _mean([part.result.bounds and part.result.bounds[end] for part in bounded])
        for end in (0, 1)
    )
    is_bounded = not unavailable and (skip or len(bounded) == len(parts))
    statuses = first_statuses(
        [part.scores for part in parts], _SKIPPING if skip else _UNKNOWN
    )
    if unavailable:
        lost = {status: statuses[status] for status in _LOST}
        statuses = Counter(
            {**lost, "unavailable": statuses.total() - sum(lost.values())}
        )
    return Result(
        task=task,
        metric=name,
        value=value,
        n=statuses.total(),
        scored=statuses["scored"],
        failed=statuses["failed"],
        unscored=statuses["unscored"],
        unavailable=statuses["unavailable"],
        unsupported=statuses["unsupported"],
        stderr=sure.stderr,
        ci95=sure.ci95,
        bounds=None if low is None or high is None or not is_bounded else (low, high),
        higher_is_better=higher_is_better,
        suspended=suspended,
        clusters=clusters,
        bootstrap_iters=sure.bootstrap_iters,
        weights={}
        if unavailable
        else {part.result.metric: 1 / len(counted) for part in counted},
        faulty=parts[0].scores.faulty,
        inapplicable=statuses["inapplicable"],
        no_option=len(frozenset[int]().union(*(p.scores.no_option for p in parts))),
        refused=len(_any(part.scores.refused for part in parts)),
        refused_unscored=len(_any(part.scores.refused_unscored for part in parts)),
        refused_verdicts=len(_any(part.scores.refused_verdicts for part in parts)),
    )


def _any(places: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset[int]().union(*places)


def _is_empty(result: Result) -> bool:
    """Whether the answers that came hold nothing for a number: those that failed would
    not be expected to."""
    return result.inapplicable > 0 and not result.scored + result.unscored


def _sureness(
    parts: Sequence[Averaged],
    value: float,
    clusters: int,
    *,
    skip: bool,
    range: Interval,
    iterations: int,
) -> Sureness:
    if len(parts) == 1:
        (only,) = parts
        return Sureness(
            only.result.stderr, only.result.ci95, only.result.bootstrap_iters
        )
    if not iterations:
        return Sureness()
    # numpy and scipy.stats, which few numbers need
    from mmeval.aggregate.resampling import resample_together

    numbers = [(part.scores, part.aggregator, part.options) for part in parts]
    found = resample_together(numbers, iterations, skip=skip)
    if found.stderr is not None and alike(found.stderr, value, range):
        return found._replace(
            stderr=0.0, ci95=statistics.same_value_interval(value, clusters, range)
        )
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    """None where one is missing, and without any."""
    known = [value for value in values if value is not None]
    return (
        math.fsum(known) / len(known) if known and len(known) == len(values) else None
    )
