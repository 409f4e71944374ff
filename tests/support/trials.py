"""Trials for tests of metrics: an answer against a target, written as text with tags;
their scores, and why a metric has no models."""

from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.findings.render import causes
from mmeval.media.parts import Interleaved
from mmeval.metric.apply import score_all, score_one
from mmeval.metric.bound import BoundMetric, bind
from mmeval.metric.contract import Metric
from mmeval.records.sample import Sample, user
from mmeval.records.score import Score
from mmeval.records.trial import Trial

Written = str | Interleaved


def trial(
    answer: Written | None,
    target: Written | Sequence[Written] | None = None,
    *,
    given: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> Trial:
    """A trial of one sample; ``given`` is the sample's input."""
    targets = (
        []
        if target is None
        else [target]
        if isinstance(target, (str, Interleaved))
        else list(target)
    )
    sample = Sample("s", (user(given),), tuple(map(content, targets)), metadata or {})
    return Trial(sample, output=None if answer is None else content(answer))


def content(written: Written) -> Interleaved:
    return Interleaved.from_text(written) if isinstance(written, str) else written


def score_of(
    metric: Metric, scored: Trial, profile: str = "standard", **switches: Any
) -> Score:
    """The score of a metric that gives one number."""
    scores = score_one(bind(metric, switches, profile), scored)
    assert len(scores) == 1
    return next(iter(scores.values()))


def scored_together(
    metric: Metric, trials: Sequence[Trial], **switches: Any
) -> list[Score]:
    return [scores[metric.name] for scores in score_all(bind(metric, switches), trials)]


def missing_weights(bound: BoundMetric) -> str:
    """Why the models of a metric are not here; empty when they are."""
    lacks = bound.lacks(("judge", "captioner"))
    return causes(need for need in lacks if need.kind == "missing_weights")
