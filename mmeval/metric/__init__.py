"""Metrics: their definition, switches and models, and how to apply them."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.metric.apply import score_all, score_derived, score_judged, score_one
    from mmeval.metric.bound import bind
    from mmeval.metric.contract import (
        Metric,
        Range,
        SampleCheck,
        Supposed,
        load_metric,
        metric,
    )
    from mmeval.metric.model import HubModel, loaded, model_folder, remembered_all
    from mmeval.metric.model_files_error import (
        WeightsError,
        damaged_files,
        gaps,
        uneven_blocks,
    )
    from mmeval.metric.result import MetricScores

__all__ = [
    "HubModel",
    "Metric",
    "MetricScores",
    "Range",
    "SampleCheck",
    "Supposed",
    "WeightsError",
    "bind",
    "damaged_files",
    "gaps",
    "load_metric",
    "loaded",
    "metric",
    "model_folder",
    "remembered_all",
    "score_all",
    "score_derived",
    "score_judged",
    "score_one",
    "uneven_blocks",
]

__getattr__, __dir__ = door(__name__)
