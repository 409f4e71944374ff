"""Scores of trials and results of tasks, with the version of the records' JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, get_args

from mmeval.records.evidence import Evidence

FORMAT_VERSION = 2
"""The version of the records' JSON. Unknown fields of a newer version are kept."""

ScoreStatus = Literal["scored", "unscored", "unavailable", "inapplicable"]
Cause = Literal["final", "lost", "unsure", "refused"]
"""Why a trial is unscored, and whether scoring it again can help.

``lost``: it can help. A verdict is lost, or scoring crashed or took too long.
``final``: it cannot. The score is undefined, or the metric fails on this answer.
``unsure``: it cannot. The judge is not sure. ``refused``: it cannot. The judge refuses
to judge the answer, or the model refused the sample and refusals are left out.
"""
CAUSES: tuple[Cause, ...] = ("lost", "unsure", "final", "refused")
"""The order of causes: the first of several counts, as it is the easiest to fix."""

Refusals = Literal["scored", "unscored"]
"""How refused answers count: as other answers, or left out of the results with bounds.
"""
REFUSALS: tuple[Refusals, ...] = get_args(Refusals)

NO_OPTION = "no_option"
"""The evidence key of a multiple-choice answer that names no option, or several.

It is true where the answer is wrong for this reason.
"""
UNUSED_REPLY = "unused_reply"
"""The evidence key, at any depth, of the start of a reply without a usable verdict."""


@dataclass(frozen=True, slots=True)
class Score:
    """A trial's score by one metric: a value with evidence, or the reason for none.

    ``status`` is one of these; only the first has a value:

    - ``scored``: without a ``value`` it has only evidence, from which an aggregator
      computes one number for all answers.
    - ``unscored``: scoring failed, for example by a lost verdict or an unreadable file.
    - ``unavailable``: known before the run, for example missing weights or no judge.
    - ``inapplicable``: the answer has nothing for the metric, for example no sound.

    ``bounds`` are the lowest and highest possible value of an unscored trial of which a
    part is known, such as a rubric with one lost verdict. ``cause`` says whether
    scoring again can help. ``weight`` is the number of items behind the value, such as
    the steps of a maze, for aggregators that weight by it.
    """

    value: float | None = None
    status: ScoreStatus = "scored"
    reason: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    cause: Cause = "final"
    weight: float = 1.0

    @classmethod
    def unscored(
        cls,
        reason: str,
        *,
        bounds: tuple[float, float] | None = None,
        weight: float = 1.0,
        **evidence: Any,
    ) -> Score:
        return cls(
            status="unscored",
            reason=reason,
            evidence=evidence,
            bounds=bounds,
            weight=weight,
        )

    @classmethod
    def lost(
        cls,
        reason: str,
        *,
        bounds: tuple[float, float] | None = None,
        weight: float = 1.0,
        **evidence: Any,
    ) -> Score:
        """Unscored for a reason that may be gone when the trial is scored again."""
        unscored = cls.unscored(reason, bounds=bounds, weight=weight, **evidence)
        return replace(unscored, cause="lost")

    @classmethod
    def refused(cls, reason: str, **evidence: Any) -> Score:
        """Unscored because the judge or the model refused."""
        return cls(status="unscored", reason=reason, evidence=evidence, cause="refused")

    @classmethod
    def unavailable(cls, reason: str) -> Score:
        return cls(status="unavailable", reason=reason)

    @classmethod
    def inapplicable(cls, reason: str) -> Score:
        """The answer has nothing for the metric. It counts in no mean and no bounds."""
        return cls(status="inapplicable", reason=reason)

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"value": self.value, "status": self.status}
        if self.reason:
            row["reason"] = self.reason
        if self.evidence:
            row["evidence"] = self.evidence
        if self.bounds is not None:
            row["bounds"] = list(self.bounds)
        if self.cause != "final":
            row["cause"] = self.cause
        if self.weight != 1:
            row["weight"] = self.weight
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Score:
        return cls(
            value=row.get("value"),
            status=row.get("status", "scored"),
            reason=row.get("reason", ""),
            evidence=row.get("evidence", {}),
            bounds=_pair(row.get("bounds")),
            cause=row.get("cause", "final"),
            weight=row.get("weight", 1.0),
        )


def _pair(values: Sequence[float] | None) -> tuple[float, float] | None:
    return None if values is None else (values[0], values[1])


@dataclass(frozen=True, slots=True)
class Result:
    """One result: a metric over the trials of a task, or over one slice of them.

    Value and uncertainty:

    - ``value``: None if nothing could be scored, or if scoring was ``suspended`` during
      the run (the trials scored until then are not a fair sample).
    - ``stderr``: its standard error; ``ci95``: its 95 % interval; ``no_interval``: why
      there is no interval.
    - ``bounds``: the value if all failed or unscored trials had the lowest, or the
      highest, value; None if the metric has no finite range. ``bounds_ci95`` is the
      interval around both.
    - ``clusters``: the number of independent groups of trials; ``effective_clusters``:
      the number of clusters of equal size with the same information.
    - ``bootstrap_iters``: the resamples behind the standard error; 0 for a formula.
    - ``weights``: the shares of a group's members, or of the components of a combined
      number.
    - ``evidence``: what a group needs to combine its members; it is not stored.

    Counts of trials:

    - ``faulty``: of the ``failed``, those whose own data could not be used.
    - ``inapplicable``: answers that have nothing for the metric.
    - ``no_option``: of the ``scored``, those that are wrong because they name no
      option.
    - ``refused``: answers that the model refused, scored or not; ``refused_unscored``:
      those of them that are unscored for this reason.
    - ``refused_verdicts``: unscored answers that the judge refuses to judge.
    """

    task: str
    metric: str
    value: float | None
    n: int
    scored: int
    failed: int = 0
    unscored: int = 0
    unavailable: int = 0
    unsupported: int = 0
    stderr: float | None = None
    ci95: tuple[float, float] | None = None
    bounds: tuple[float, float] | None = None
    slice: str = ""
    higher_is_better: bool = True
    suspended: bool = False
    clusters: int = 0
    bootstrap_iters: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)
    faulty: int = 0
    inapplicable: int = 0
    no_option: int = 0
    bounds_ci95: tuple[float, float] | None = None
    no_interval: str = ""
    effective_clusters: float | None = None
    evidence: Evidence | None = field(default=None, repr=False, compare=False)
    refused: int = 0
    refused_unscored: int = 0
    refused_verdicts: int = 0

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval to show: ``bounds_ci95`` if trials were lost, else
        ``ci95``."""
        return self.ci95 if self.bounds_ci95 is None else self.bounds_ci95

    @property
    def is_refused_whole(self) -> bool:
        """True if there is no value because all trials are unscored by refusals."""
        by_refusals = self.refused_unscored + self.refused_verdicts
        has_others = self.scored or self.failed or self.suspended
        return by_refusals > 0 and by_refusals == self.unscored and not has_others

    @property
    def has_nothing_to_score(self) -> bool:
        """True if no answer, and no lost trial, may have anything for the metric."""
        return self.inapplicable > 0 and not (
            self.scored or self.failed or self.unscored or self.unavailable
        )

    def to_json(self) -> dict[str, Any]:
        names = (f.name for f in fields(self) if f.name != "evidence")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Result:
        names = {f.name for f in fields(cls)} - {"evidence"}
        values = {name: value for name, value in row.items() if name in names}
        for name in ("ci95", "bounds", "bounds_ci95"):
            values[name] = _pair(row.get(name))
        return cls(**values)


class Key(NamedTuple):
    """The key of a result: task or group, metric, and slice (empty for the whole)."""

    task: str
    metric: str
    slice: str = ""

    @classmethod
    def of(cls, result: Result) -> Key:
        return cls(result.task, result.metric, result.slice)
