"""The three terms of the quality of a 3D item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Terms:
    """Topology (T), geometry (G) and sampling (S) from 0 to 1, with their measures."""

    topology: float
    geometry: float
    sampling: float
    evidence: Mapping[str, Any] = field(default_factory=dict)
