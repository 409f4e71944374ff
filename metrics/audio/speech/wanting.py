"""What a row wants of a voice, high or low, and how far a number within a band fulfils it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from mmeval.errors import UsageError
from mmeval.records import Sample

Wanted: TypeAlias = Literal["high", "low"]


def wanted(sample: Sample, key: str) -> Wanted | None:
    """What the label of a row says; None where it has none, or says something else."""
    label = sample.metadata.get(key)
    if label == "high":
        return "high"
    return "low" if label == "low" else None


def wanting_fault(sample: Sample, key: str) -> str:
    """What is wrong with a row's label; empty when nothing is. A row need not have one."""
    label = sample.metadata.get(key)
    return "" if label in (None, "high", "low") else f"the label {key!r} must be high or low, not {label!r:.80}"


def band_fault(switches: Mapping[str, Any], *names: str) -> str:
    """What is wrong with bands, each of which has the ends ``NAME_low`` and ``NAME_high``; empty when nothing is."""
    wrong = [name for name in names if switches[f"{name}_low"] >= switches[f"{name}_high"]]
    return f"the switch {wrong[0]}_low must be below {wrong[0]}_high" if wrong else ""


def share_of(value: float, asked: Wanted, low: float, high: float) -> float:
    """How far along the band from ``low`` to ``high`` a value lies, 0 to 1, in the direction that is asked for.

    Raises UsageError for a band without width.

    >>> share_of(160, "high", 156, 180), share_of(160, "low", 156, 180), share_of(200, "high", 156, 180)
    (0.16666666666666666, 0.8333333333333334, 1.0)
    """
    if low >= high:
        raise UsageError(f"the lower end of the band, {low:g}, must be below the upper one, {high:g}")
    way = value - low if asked == "high" else high - value
    return min(1.0, max(0.0, way / (high - low)))
