"""A requested pitch or speed, high or low, and how well a value meets the request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from mmeval.errors import UsageError
from mmeval.records import Sample

RequestedLevel: TypeAlias = Literal["high", "low"]


def requested_level(sample: Sample, key: str) -> RequestedLevel | None:
    """Returns the label of a row, or None if it is missing or invalid."""
    label = sample.metadata.get(key)
    if label == "high":
        return "high"
    if label == "low":
        return "low"
    return None


def level_fault(sample: Sample, key: str) -> str:
    """Says what is wrong with a row's label.

    The string is empty if the label is valid or missing.
    """
    label = sample.metadata.get(key)
    if label in (None, "high", "low"):
        return ""
    return f"the label {key!r} must be high or low, not {label!r:.80}"


def band_fault(switches: Mapping[str, Any], *names: str) -> str:
    """Says what is wrong with bands (``NAME_low`` to ``NAME_high``).

    The string is empty if all bands are valid.
    """
    for name in names:
        if switches[f"{name}_low"] >= switches[f"{name}_high"]:
            return f"the switch {name}_low must be below {name}_high"
    return ""


def share_of(
    value: float,
    level: RequestedLevel,
    low: float,
    high: float,
) -> float:
    """Returns a value's position in a band, from 0 to 1, in the requested direction.

    The band is from ``low`` to ``high``. Raises UsageError for a band without width.

    >>> share_of(160, "high", 156, 180), share_of(160, "low", 156, 180), share_of(200, "high", 156, 180)
    (0.16666666666666666, 0.8333333333333334, 1.0)
    """  # noqa: E501
    if low >= high:
        raise UsageError(
            f"the lower end of the band, {low:g}, must be below the upper one, {high:g}"
        )
    distance = value - low if level == "high" else high - value
    return min(1.0, max(0.0, distance / (high - low)))
