"""The records of ratings and of scores: one row states one value of one trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

Value: TypeAlias = float | str | None
"""A rating: a number, a word, or None if the rater cannot say."""
How = Literal["random", "all", "chosen", "active", "unknown"]
HOWS: tuple[How, ...] = get_args(How)
RATING_VERSION = 1
TrialName: TypeAlias = tuple[str, str]
"""The names of a run and of a trial. The run is empty if the rows name none."""


@dataclass(frozen=True)
class Draw:
    """How a trial was drawn for rating.

    ``probability`` is the probability with which the trial was drawn. It is None if all
    trials had the same one.
    """

    how: How = "unknown"
    probability: float | None = None
    stratum: str = ""
    seed: int | None = None

    @property
    def is_random(self) -> bool:
        """True if chance alone decided which trials were rated, or if all were."""
        return self.how in ("random", "all")

    def to_json(self) -> dict[str, Any]:
        """Returns the fields that differ from their defaults, as JSON."""
        return _without_defaults(self)


@dataclass(frozen=True)
class Rating:
    """What one rater says of one trial, on one question, at one pass.

    Pass 1 is the first time, pass 2 is the same trial shown again. ``cluster``,
    ``sample``, ``task`` and ``labels`` describe the trial; they are empty if the file
    does not state them. ``a``, ``b``, ``first`` and ``side`` belong to ratings of
    pairs. ``gold`` is the right answer of a trial whose answer is known.
    """

    trial: str
    rater: str
    value: Value
    question: str = ""
    pass_number: int = 1
    sample: str = ""
    cluster: str = ""
    task: str = ""
    run: str = ""
    digest: str = ""
    kind: str = ""
    seconds: float | None = None
    at: datetime | None = None
    comment: str = ""
    side: str = ""
    a: str = ""
    b: str = ""
    first: str = ""
    gold: Value = None
    draw: Draw = Draw()
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def cluster_name(self) -> str:
        """The cluster. Without one it is the sample, and without that the trial."""
        return self.cluster or self.sample or self.trial

    @property
    def is_check(self) -> bool:
        """True if the trial was chosen because its right answer is known."""
        return self.gold is not None and self.draw.how == "chosen"

    @property
    def place(self) -> tuple[str, str, str, str, int]:
        """What the rating is about. A later rating of the same place replaces it."""
        return (self.run, self.trial, self.rater, self.question, self.pass_number)

    def to_json(self) -> dict[str, Any]:
        """Returns the line of the ratings file. Empty fields are left out."""
        row = _without_defaults(self)
        row["value"] = self.value
        if "pass_number" in row:
            row["pass"] = row.pop("pass_number")
        if self.at is not None:
            row["at"] = self.at.isoformat()
        if "draw" in row:
            row["draw"] = self.draw.to_json()
        row["v"] = RATING_VERSION
        return row


@dataclass(frozen=True)
class ScoreRow:
    """One trial's value of one metric. ``value`` is None if the trial is unscored.

    A verdict in words, such as a choice, is in ``word``, and has no value.
    ``digest`` identifies the answer, and ``question`` the question with its criteria.
    Both are empty if they are not stated. ``draw`` says how the trial was drawn, if
    only some trials have a value.
    """

    trial: str
    metric: str
    value: float | None
    sample: str = ""
    cluster: str = ""
    task: str = ""
    run: str = ""
    digest: str = ""
    question: str = ""
    draw: Draw = Draw()
    labels: Mapping[str, str] = field(default_factory=dict)
    word: str = ""

    @property
    def sample_name(self) -> str:
        """The sample. Without one, each trial is its own sample."""
        return self.sample or self.trial

    @property
    def cluster_name(self) -> str:
        """The cluster. Without one, each sample is its own cluster."""
        return self.cluster or self.sample_name


def _without_defaults(record: Draw | Rating) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in record.__dataclass_fields__:
        value = getattr(record, name)
        if value not in ("", None, {}) and value != Draw():
            fields[name] = value
    return fields
