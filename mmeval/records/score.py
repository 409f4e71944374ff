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
"""The cause of an unscored trial. Scoring again can help only if the cause is ``lost``.

- ``lost``: a verdict is lost, or scoring crashed or took too long.
- ``final``: the score is undefined, or the metric fails on this answer.
- ``unsure``: the judge could not decide.
- ``refused``: the judge refuses to judge the answer, or the model refused the sample
  and refusals are left out.
"""
CAUSES: tuple[Cause, ...] = ("lost", "unsure", "final", "refused")
"""The causes in order of precedence. If an unscored trial has several causes, the first
of these is recorded, because it is the easiest to fix."""

Refusals = Literal["scored", "unscored"]
"""The treatment of refused answers: ``scored`` like other answers, or ``unscored``, so
that they affect only the bounds."""
REFUSALS: tuple[Refusals, ...] = get_args(Refusals)

NO_OPTION = "no_option"
"""The evidence key of a multiple-choice answer that names no option, or several.

The value under this key is true if the answer is wrong for this reason.
"""
UNUSED_REPLY = "unused_reply"
"""The evidence key for the start of a reply without a usable verdict. The key may occur
at any depth of the evidence."""


@dataclass(frozen=True, slots=True)
class Score:
    """The score that one metric gave a trial: a value, or the reason why it is missing.

    ``status`` is one of these. Only a scored trial may have a value:

    - ``scored``: the score may have only evidence and no ``value``. An aggregator then
      computes one number from the evidence of all answers.
    - ``unscored``: scoring failed, for example because of a lost verdict or an
      unreadable file.
    - ``unavailable``: the metric cannot be computed, which was known before the run.
      For example, its weights are missing, or the run has no judge.
    - ``inapplicable``: the answer contains nothing for the metric to score, for example
      no sound.

    ``bounds`` are the lowest and highest possible value of an unscored trial that is
    partly known, such as a rubric with one lost verdict. ``cause`` says whether scoring
    again can help. ``weight`` is the number of items that the value covers, such as the
    steps of a maze. Some aggregators weight by it.
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
        """Returns an unscored score for a temporary reason.

        Scoring the trial again can help.
        """
        unscored = cls.unscored(reason, bounds=bounds, weight=weight, **evidence)
        return replace(unscored, cause="lost")

    @classmethod
    def refused(cls, reason: str, **evidence: Any) -> Score:
        """Returns an unscored score, because the judge or the model refused."""
        return cls(status="unscored", reason=reason, evidence=evidence, cause="refused")

    @classmethod
    def unavailable(cls, reason: str) -> Score:
        return cls(status="unavailable", reason=reason)

    @classmethod
    def inapplicable(cls, reason: str) -> Score:
        """Returns a score for an answer that contains nothing for the metric to score.

        The trial does not enter any mean or bounds.
        """
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

    - ``value``: the number; None if nothing could be scored, or if scoring was
      ``suspended`` during the run. The trials that were scored until then are not a
      fair sample.
    - ``stderr``: the standard error of the value.
    - ``ci95``: the 95 % interval of the value.
    - ``no_interval``: the reason why there is no interval.
    - ``bounds``: the lowest and the highest value that the result could have, whatever
      the values of the failed and unscored trials are. They are None if the metric has
      no finite range.
    - ``bounds_ci95``: the 95 % interval around both bounds.
    - ``clusters``: the number of independent groups of trials.
    - ``effective_clusters``: the number of clusters of equal size with the same
      information.
    - ``bootstrap_iters``: the number of resamples for the standard error, or 0 if a
      formula computes it.
    - ``weights``: the shares of a group's members, or of the components of a combined
      number.
    - ``evidence``: what a group needs to combine its members. This field is not stored.

    Counts of trials:

    - ``faulty``: failed trials with an invalid sample.
    - ``inapplicable``: answers that contain nothing for the metric to score.
    - ``no_option``: scored answers that are wrong because they name no option.
    - ``refused``: answers that the model refused, scored or not.
    - ``refused_unscored``: answers that are unscored because the model refused.
    - ``refused_verdicts``: answers that are unscored because the judge refused.
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
        """The 95 % interval to show.

        It is ``bounds_ci95`` if trials were lost, else ``ci95``.
        """
        return self.ci95 if self.bounds_ci95 is None else self.bounds_ci95

    @property
    def is_refused_whole(self) -> bool:
        """True if there is no value because each trial is unscored due to a refusal."""
        by_refusals = self.refused_unscored + self.refused_verdicts
        has_others = self.scored or self.failed or self.suspended
        return by_refusals > 0 and by_refusals == self.unscored and not has_others

    @property
    def has_nothing_to_score(self) -> bool:
        """True if no answer, and no lost trial, can contain anything for the metric to
        score."""
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
    """The key of a result: task or group, metric, and slice (empty for all samples)."""

    task: str
    metric: str
    slice: str = ""

    @classmethod
    def of(cls, result: Result) -> Key:
        return cls(result.task, result.metric, result.slice)
