"""Figures: what a benchmark measured, beside the goal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A measured value with the goal that it must not pass, or, ``at_least``, has to reach."""

    name: str
    value: float
    goal: float
    unit: str = ""
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.value >= self.goal if self.at_least else self.value <= self.goal

    def row(self) -> str:
        """As a row of a Markdown table."""
        sign, met = "≥" if self.at_least else "≤", "yes" if self.met else "NO"
        digits = ".0f" if abs(self.value) >= 100 else ".3g"
        return f"| {self.name} | {self.value:{digits}}{self.unit} | {sign} {self.goal:g}{self.unit} | {met} |"
