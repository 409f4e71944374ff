"""What a check of a judge finds: its value, its uncertainty, and a word for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mmeval.aggregate.quantiles import student_quantile
from mmeval.comparison.statistics import LEVEL
from mmeval.trust.correction.rated_trials import Range, two_sided_quantile

Word = Literal["fault", "slight", "none", "unknown"]
"""A fault, an effect too small to matter, no effect that matters, or not known."""
Honest = Literal["near 0", "far above 0"]
"""Where the value of an honest judge is."""

_POWER = 0.8


@dataclass(frozen=True)
class Evidence:
    """The value of a check on a scale of scores from 0 to 1.

    ``p`` is small if an honest judge would hardly have this value. ``details`` are
    further numbers of the check by name, and ``forms`` the values by the form of the
    change, if it has several. What is unknown is None, and ``why`` is then the reason.
    """

    value: float | None = None
    stderr: float | None = None
    ci95: Range | None = None
    p: float | None = None
    clusters: int = 0
    details: Mapping[str, float | None] = field(default_factory=dict)
    forms: Mapping[str, float] = field(default_factory=dict)
    why: str = ""

    @property
    def smallest_seen(self) -> float | None:
        """The smallest effect that is seen in 80 % of audits of this size."""
        if not self.stderr:
            return None
        freedom = self.clusters - 1
        reach = two_sided_quantile(freedom) + student_quantile(freedom, _POWER)
        return reach * self.stderr


@dataclass(frozen=True)
class CheckResult:
    """A check's evidence, judged together with the other checks of the audit.

    ``p_adjusted`` is Holm's p over all checks with a p. An effect of at most ``margin``
    does not matter. For a judge that must notice a change, the effect must be at least
    the margin.
    """

    check: str
    evidence: Evidence
    margin: float
    honest: Honest
    p_adjusted: float | None = None

    @property
    def word(self) -> Word:
        """The verdict on the judge."""
        is_significant = self.p_adjusted is not None and self.p_adjusted < LEVEL
        if is_significant:
            return "slight" if self._is_within_margin else "fault"
        return "none" if self._is_within_margin else "unknown"

    @property
    def _is_within_margin(self) -> bool:
        value, ends = self.evidence.value, self.evidence.ci95
        if value is None or ends is None:
            return False
        if self.honest == "far above 0":
            return ends[0] > 0 and value >= self.margin
        return -self.margin <= ends[0] and ends[1] <= self.margin

    def to_json(self) -> dict[str, Any]:
        """Returns all fields, and the word as ``verdict``."""
        evidence = self.evidence
        row: dict[str, Any] = {
            "check": self.check,
            "value": evidence.value,
            "stderr": evidence.stderr,
            "ci95": evidence.ci95,
            "p": evidence.p,
            "p_adjusted": self.p_adjusted,
            "clusters": evidence.clusters,
            "smallest_seen": evidence.smallest_seen,
            "margin": self.margin,
            "verdict": self.word,
            **evidence.details,
        }
        if evidence.forms:
            row["forms"] = dict(evidence.forms)
        if evidence.why:
            row["why"] = evidence.why
        return row
