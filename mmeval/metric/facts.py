"""The facts of a metric that its declaration states, in words for people.

``mmeval ls metrics NAME`` and the site show them next to the metric's docstring.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from mmeval.metric.contract import Metric

IN_A_TASK = "In a task"
"""The fact that shows how a task names the metric. A docstring with a paragraph of this
title has an example of its own."""


def range_text(metric: Metric) -> str:
    """Returns the lowest and the highest value, such as ``0..1``."""
    if metric.derived and metric.range_of is not None:
        return "of its pieces"
    low, high = metric.range
    return f"{low:.4g}..{high:.4g}".replace("inf", "∞")


def facts_of(metric: Metric) -> Mapping[str, str]:
    """Returns the facts by title, without those that do not apply."""
    facts: dict[str, str] = {}
    if metric.derived:
        facts["Reads"] = "scores of other metrics"
    elif metric.reference_free:
        kind = f"{metric.looks_at} parts" if metric.looks_at else "parts"
        facts["Reads"] = f"only the {kind} of the answer"
    if metric.caution:
        facts["Caution"] = metric.caution
    if metric.outputs != (metric.name,):
        facts["Outputs"] = ", ".join(metric.outputs)
    if f"{IN_A_TASK}:" not in (inspect.getdoc(metric.function) or ""):
        facts[IN_A_TASK] = f"metric_list: [{{metric: {metric.name}}}]"
    facts["Source"] = metric.source
    return facts
