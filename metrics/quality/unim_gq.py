"""Generation quality (GQ) of UniM: how well each item of an answer is made. This version does not compute it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmeval.metric import metric
from mmeval.records import Score, Trial

NOT_YET = "this version of mmeval does not compute it yet"


def _not_yet(_switches: Mapping[str, Any]) -> str:
    return NOT_YET


@metric(range=(0, 1), version="0", source="UniM, section 4.1 (GQ)", unavailable=_not_yet)
def unim_gq(_trial: Trial) -> Score:
    """The mean quality of an answer's items, its text among them; unavailable in this version.

    Range 0 to 1, higher is better. The name is kept, so that task files and what is made of it (``sqcs``) say what they
    mean, and a run tells what it leaves out.
    """
    return Score.unavailable(NOT_YET)
