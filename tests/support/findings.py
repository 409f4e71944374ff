"""Findings for tests, and what a metric lacks, in one text."""

from mmeval.findings.finding import Finding, Subject
from mmeval.findings.render import causes
from mmeval.metric.bound import BoundMetric, missing_role

NO_JUDGE = missing_role("half", "judge")
NO_ROWS = Finding("missing_data", Subject("b"), cause="no rows")


def missing_weights(bound: BoundMetric) -> str:
    """Why the models of a metric are not here; empty when they are."""
    lacks = bound.lacks(("judge", "captioner"))
    return causes(one for one in lacks if one.kind == "missing_weights")
