"""The verdicts of a judge on one trial, plainly and after a change."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

LENGTH, SELF, DRIFT = "length", "self", "drift"
"""The checks that need no changed answers."""
RATED = frozenset((LENGTH, SELF))
"""The checks that need ratings of people."""
LOOKING = ("swap", "blind", "blank")
"""The checks in which a judge must notice other media."""
TEXT_SIDE = "text"
"""The side of a criterion that is about text alone."""
NOT_SURE = "not sure"
"""What a judge may say of a changed trial in place of a score."""


@dataclass(frozen=True)
class Call:
    """The verdicts of a judge on one trial, for one check.

    ``first`` is its score, ``again`` the score when asked once more, and ``changed``
    that of the changed trial. A score is None if it is missing. ``is_unsure`` is True
    if the judge is not sure of the changed trial. ``position`` is the place of its
    choice in a list as shown, from 0 (first) to 1 (last), and ``position_turned`` the
    place when the list is turned round.

    ``score`` is compared with the ratings ``human`` and ``human2``, and with the number
    of ``words`` of the answer, or with ``own``: 1 if the answer's model is of the
    judge's family, otherwise 0. ``side`` is ``text`` if the criterion speaks of text
    alone. ``form`` is the form of the change, if the check has several.
    """

    check: str
    trial: str
    cluster: str
    first: float | None = None
    again: float | None = None
    changed: float | None = None
    is_unsure: bool = False
    position: float | None = None
    position_turned: float | None = None
    score: float | None = None
    human: float | None = None
    human2: float | None = None
    words: float | None = None
    own: float | None = None
    side: str = ""
    form: str = ""

    def to_json(self) -> dict[str, Any]:
        """Returns the fields that are known, in the form that ``--from`` reads."""
        row = {}
        for name, value in asdict(self).items():
            if value is not None and value != "":
                row[name] = value
        if row.pop("is_unsure"):
            row["changed"] = NOT_SURE
        return row
