"""Counts of things in a picture."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any, NamedTuple

from mmeval.metrics.judged.pictures.asking import About, Asking, ask_letter
from mmeval.program import Program, Written
from mmeval.records import Score

FEWEST, MOST = 3, 6
"""The counts with an option each; all below share one option, and so do all above."""


class Counts(NamedTuple):
    """The counts that a judge chooses from, ``fewest`` to ``most``."""

    fewest: int
    most: int

    def letter(self, count: int) -> str:
        """The letter that stands for a count; A stands for fewer, the last for more."""
        return ascii_uppercase[count - self.fewest + 1]

    @property
    def options(self) -> Mapping[str, str]:
        """What each letter means."""
        meanings = {"A": f"fewer than {self.fewest}, or the picture is blank"}
        for count in range(self.fewest, self.most + 1):
            meanings[self.letter(count)] = str(count)
        meanings[self.letter(self.most + 1)] = f"more than {self.most}"
        return meanings

    @property
    def fault(self) -> str:
        """What is wrong with the two; empty when nothing is."""
        if 0 <= self.fewest <= self.most <= self.fewest + 20:
            return ""
        return f"{self.fewest} to {self.most} is no range of counts, or a very long one"


def ask_count(
    asking: Asking,
    prompt: Written,
    about: About,
    counts: Counts,
    wanted: int,
    **evidence: Any,
) -> Program[Score]:
    """1 when there are as many of the described things in the picture as wanted.
    The answer is a letter, spelt out in the evidence."""
    found = yield from ask_letter(asking, prompt, about, counts.options)
    counted = {
        **evidence,
        **found.evidence,
        "counted": counts.options.get(found.answer),
    }
    return found.is_(counts.letter(wanted)).scored(counted)
