"""The criteria of a rubric, of which some are about text alone.

A judge may miss a change of media without a fault where a criterion is about text. So
answers are compared by the other criteria.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from mmeval.trust.audit.calls import TEXT_SIDE


class CriterionVerdict(NamedTuple):
    """What a judge says of a criterion: the share met, or None. ``is_lost`` is True if
    there is no verdict, and False if the judge is not sure."""

    id: str
    weight: float
    met: float | None
    is_lost: bool


def criteria_in(evidence: Mapping[str, Any]) -> tuple[CriterionVerdict, ...]:
    """Returns the verdicts on criteria in the evidence of a score."""
    verdicts = []
    for row in evidence.get("criteria", ()):
        met = row.get("met")
        verdicts.append(
            CriterionVerdict(
                str(row["id"]),
                float(row["weight"]),
                None if met is None else float(met),
                "lost" in row,
            )
        )
    return tuple(verdicts)


def media_criteria(rubric: Any) -> frozenset[str] | None:
    """Returns the names of the criteria of a rubric that are not about text alone, or
    None if there is no rubric."""
    if not isinstance(rubric, list | tuple):
        return None
    names = set()
    for number, row in enumerate(rubric, start=1):
        fields = row if isinstance(row, Mapping) else {}
        if fields.get("side") != TEXT_SIDE:
            names.add(str(fields.get("id", number)))
    return frozenset(names)


def share_met(
    verdicts: Iterable[CriterionVerdict], names: Collection[str]
) -> tuple[float | None, bool]:
    """Returns the weighted share of some criteria that are met, and whether the judge
    is not sure of one. The share is None if the verdict on one is missing."""
    chosen = [verdict for verdict in verdicts if verdict.id in names]
    if not chosen or any(verdict.is_lost for verdict in chosen):
        return None, False
    met = 0.0
    for verdict in chosen:
        if verdict.met is None:
            return None, True
        met += verdict.weight * verdict.met
    return met / sum(verdict.weight for verdict in chosen), False
