"""Ends a session when the mean of the ratings is known well enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mmeval.errors import UsageError
from mmeval.trust.annotate.session import StopRule
from mmeval.trust.annotate.trials import TrialToRate
from mmeval.trust.calibrate import CalibrationOptions, calibrate
from mmeval.trust.records import Rating, ScoreRow

NO_METRIC = "none"


def stop_at(
    half_width: float,
    trials: Sequence[TrialToRate],
    scores: Sequence[ScoreRow],
    metric: str,
) -> StopRule:
    """Returns the rule that ends a session at this half width of the mean's interval.

    The interval holds however often one looks. ``scores`` of ``metric`` make it
    narrower; without a metric there are none. Raises UsageError if ratings are not
    numbers, the trials are of several runs, or they were not drawn at random.
    """
    limits = {trial.question.limits for trial in trials}
    ranges = [span for span in limits if span is not None]
    if len(ranges) < len(limits) or len(limits) != 1:
        raise UsageError("--precision needs ratings that are numbers of one range")
    if len({trial.run for trial in trials}) > 1:
        raise UsageError("--precision needs answers of one run")
    if not half_width > 0:
        raise UsageError(f"--precision must be above 0, not {half_width:g}")
    question = trials[0].question.name
    rows = list(scores) or _without_metric(trials)
    options = CalibrationOptions(
        metric or NO_METRIC, limits=ranges[0], sequence=True, question=question
    )
    drawn = {trial.key for trial in trials if trial.draw.is_random}

    def rule(ratings: Sequence[Rating]) -> str:
        used = []
        for rating in ratings:
            if (rating.run, rating.trial) in drawn and rating.value is not None:
                used.append(replace(rating, gold=None))
        if not used:
            return ""
        sequence = calibrate(rows, used, options).results[0].sequence
        if sequence is None or sequence.ci95 is None:
            return ""
        low, high = sequence.ci95
        reached = (high - low) / 2
        if reached > half_width:
            return ""
        return f"the mean is {sequence.value:.3g}, known to within {reached:.3g}"

    return rule


def _without_metric(trials: Sequence[TrialToRate]) -> list[ScoreRow]:
    """Returns a metric that says the same of every trial, and so nothing."""
    rows = []
    for trial in trials:
        row = ScoreRow(
            trial=trial.trial,
            metric=NO_METRIC,
            value=0.0,
            sample=trial.sample,
            cluster=trial.cluster,
            task=trial.task,
            run=trial.run,
        )
        rows.append(row)
    return rows
