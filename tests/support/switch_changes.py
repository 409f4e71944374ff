"""The mutation check of switches: whatever default of a metric is changed, some score of a few trials changes too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.metric.apply import score_one
from mmeval.metric.bound import bind
from mmeval.metric.contract import Metric
from mmeval.records.trial import Trial


def unnoticed(metric: Metric, changes: Mapping[str, Sequence[Any]], trials: Sequence[Trial]) -> list[str]:
    """The switches that no change is listed for, and each listed change that leaves all scores as they are. A score is
    its value and its evidence."""
    before = [score_one(bind(metric), trial) for trial in trials]
    idle = [
        f"{switch}={value}"
        for switch, values in changes.items()
        for value in values
        if [score_one(bind(metric, {switch: value}), trial) for trial in trials] == before
    ]
    return [*(set(metric.switches) - set(changes)), *idle]
