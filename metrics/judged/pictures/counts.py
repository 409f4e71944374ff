"""Asks a judge to count objects in a picture."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any, NamedTuple

from mmeval.metrics.judged.pictures.asking import (
    PictureJudge,
    QuestionSubject,
    ask_letter,
)
from mmeval.program import Program, PromptValue
from mmeval.records import Score

FEWEST, MOST = 3, 6
"""The lowest and the highest count that the judge can choose exactly."""


class CountOptions(NamedTuple):
    """A judge's options: each count from ``fewest`` to ``most``, fewer, or more."""

    fewest: int
    most: int

    def letter(self, count: int) -> str:
        """Returns the letter of a count.

        A means fewer, and the last letter means more.
        """
        return ascii_uppercase[count - self.fewest + 1]

    @property
    def options(self) -> Mapping[str, str]:
        """The meaning of each letter."""
        meanings = {"A": f"fewer than {self.fewest}, or the picture is blank"}
        for count in range(self.fewest, self.most + 1):
            meanings[self.letter(count)] = str(count)
        meanings[self.letter(self.most + 1)] = f"more than {self.most}"
        return meanings

    @property
    def fault(self) -> str:
        """What is wrong with the range of counts; empty if the range is valid."""
        if 0 <= self.fewest <= self.most <= self.fewest + 20:
            return ""
        return f"{self.fewest} to {self.most} is not a range of at most 20 counts"


def ask_count(
    judge: PictureJudge,
    prompt: PromptValue,
    subject: QuestionSubject,
    counts: CountOptions,
    expected: int,
    **evidence: Any,
) -> Program[Score]:
    """Scores 1 if the judge's count of the described objects is as expected, else 0.

    The judge answers with a letter. The evidence contains the count that this letter
    stands for.
    """
    answer = yield from ask_letter(judge, prompt, subject, counts.options)
    counted = counts.options.get(answer.answer)
    evidence = {**evidence, **answer.evidence, "counted": counted}
    return answer.matches(counts.letter(expected)).scored(evidence)
