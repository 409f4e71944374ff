"""Scores of trials and results of tasks, with the version of the records' JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, get_args

from mmeval.records.evidence import Evidence

FORMAT_VERSION = 2
"""Version of the JSON form of all records; unknown fields of a newer one are kept,
never refused."""

ScoreStatus = Literal["scored", "unscored", "unavailable", "inapplicable"]
Cause = Literal["final", "lost", "unsure", "refused"]
"""Whether scoring an unscored trial again can help. ``lost``: it can, as a verdict was
lost, or the scoring died or took too long. ``final``: it cannot, as the score is
undefined, or the metric fails on this answer. ``unsure``: it cannot, as the judge is
not sure. ``refused``: it cannot, as the judge refuses to judge this answer, or the
model has refused the sample and such answers are left out."""
CAUSES: tuple[Cause, ...] = ("lost", "unsure", "final", "refused")
"""Of several causes the first of these counts, as most can be done for it."""

Refusals = Literal["scored", "unscored"]
"""What an answer that the model refused is: one like any other, or left out of the
numbers, with bounds."""
REFUSALS: tuple[Refusals, ...] = get_args(Refusals)

NO_OPTION = "no_option"
"""The key in a score's evidence that is true for an answer to a multiple-choice
question that names no option, or several, and is wrong for that."""
UNUSED_REPLY = "unused_reply"
"""The key in a metric's evidence, at any depth, for the beginning of a reply for which
a verdict is lost."""


@dataclass(frozen=True, slots=True)
class Score:
    """A trial's score by one metric: a value with evidence, or why there is none.

    ``unscored`` is found while scoring (a lost verdict, an unreadable file);
    ``unavailable`` is known before the run (no weights, no judge). Neither is zero.
    ``inapplicable`` is an answer that holds nothing for the metric, such as one without
    sound for the quality of sound. A scored one without a value has only evidence, of
    which an aggregator makes one number of all answers. Where a part of an unscored
    trial is known, such as a rubric with one lost verdict, ``bounds`` are the lowest
    and the highest value that it could have had. ``cause`` of an unscored one is
    whether scoring it again can help. ``weight`` is how many things stand behind it,
    such as the steps of a maze, for an aggregator that counts these."""

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
        """Unscored since the judge, or the model, refuses."""
        return cls(status="unscored", reason=reason, evidence=evidence, cause="refused")

    @classmethod
    def unavailable(cls, reason: str) -> Score:
        return cls(status="unavailable", reason=reason)

    @classmethod
    def inapplicable(cls, reason: str) -> Score:
        """An answer that holds nothing for the metric; it counts in no mean and no
        bounds."""
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
    """One number of a report: a metric over a task's trials, or over one slice.

    ``stderr`` is the standard error of ``value``, ``ci95`` its 95 % interval, and
    ``no_interval`` the reason why there is none; ``bounds`` are the values it would
    have if everything failed or unscored were lowest, or highest (None when the metric
    has no finite range), and ``bounds_ci95`` is the interval that covers these as well.
    Where ``value`` is None nothing could be scored, or scoring was ``suspended`` during
    the run, and what was scored until then is not a fair part of the whole.
    ``clusters`` counts the independent groups of trials behind the value,
    ``effective_clusters`` how many of one size would tell as much,
    ``bootstrap_iters`` the resamples behind its standard error (0: it comes from a
    formula). ``weights`` are the shares of a group's members, or of the parts of a
    number that is made of others. ``faulty`` are those of
    the ``failed`` that could not be asked because of their own data; ``inapplicable``
    are the answers that hold nothing for the metric. ``no_option`` are those of the
    ``scored`` that are wrong because they name no option. ``refused`` are the answers
    that the model refused, scored or not; ``refused_unscored`` are those of them that
    are unscored for that alone. ``refused_verdicts`` are the unscored answers that the
    judge refuses to judge. ``evidence`` is what a group needs of its members; it is not
    stored.
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
        """The 95 % interval to show: where trials were lost, that which covers whatever
        they would have been."""
        return self.ci95 if self.bounds_ci95 is None else self.bounds_ci95

    @property
    def is_refused_whole(self) -> bool:
        """Whether there is no value since all that was asked is unscored by
        refusals."""
        by_refusals = self.refused_unscored + self.refused_verdicts
        has_others = self.scored or self.failed or self.suspended
        return by_refusals > 0 and by_refusals == self.unscored and not has_others

    @property
    def has_nothing_to_score(self) -> bool:
        """Whether no answer holds anything for the metric, and no lost trial might."""
        return self.inapplicable > 0 and not (
            self.scored or self.failed or self.unscored or self.unavailable
        )

    def to_json(self) -> dict[str, Any]:
        names = (f.name for f in fields(self) if f.name != "evidence")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Result:
        known = {f.name for f in fields(cls)} - {"evidence"}
        values = {name: value for name, value in row.items() if name in known}
        for name in ("ci95", "bounds", "bounds_ci95"):
            values[name] = _pair(row.get(name))
        return cls(**values)


class Key(NamedTuple):
    """The name of a number: of a task or group as a whole, or of one slice of it."""

    task: str
    metric: str
    slice: str = ""

    @classmethod
    def of(cls, result: Result) -> Key:
        return cls(result.task, result.metric, result.slice)
