"""Count: does the picture show as many things as it should?"""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any, NamedTuple

from mmeval.content import Media
from mmeval.judge import Repeats
from mmeval.metric import metric
from mmeval.metrics.image.pictures import NEEDS
from mmeval.metrics.judged.pictures.asking import (
    PLAIN_REPLIES,
    About,
    Asking,
    ChoicePrompt,
    Finding,
    Lost,
    Written,
    ask_letter,
)
from mmeval.metrics.judged.pictures.looked_at import only_picture
from mmeval.metrics.judged.reading import Reading
from mmeval.program import Program, Role
from mmeval.records import Sample, Score, Trial

FEWEST, MOST = 3, 6
"""The counts that are told apart; all below are one option, and all above."""


class Counts(NamedTuple):
    """The counts that a judge tells apart, from ``fewest`` to ``most``."""

    fewest: int
    most: int

    def letter(self, count: int) -> str:
        """The letter that stands for a count; A and the last one stand for fewer and for more."""
        return ascii_uppercase[count - self.fewest + 1]

    @property
    def options(self) -> Mapping[str, str]:
        """What each letter means."""
        numbers = {self.letter(count): str(count) for count in range(self.fewest, self.most + 1)}
        fewer = f"fewer than {self.fewest}, or the picture is blank"
        return {"A": fewer, **numbers, self.letter(self.most + 1): f"more than {self.most}"}

    @property
    def fault(self) -> str:
        """What is wrong with the two; empty when nothing is."""
        sound = 0 <= self.fewest <= self.most <= self.fewest + 20
        return "" if sound else f"{self.fewest} to {self.most} is no range of counts, or a very long one"


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    counts = Counts(switches["fewest"], switches["most"])
    count = sample.metadata.get(switches["count_key"])
    if counts.fault or not isinstance(sample.metadata.get(switches["object_key"]), str):
        return counts.fault or f"the row has no text under {switches['object_key']!r}"
    if type(count) is not int or not counts.fewest <= count <= counts.most:
        return f"the row's label {switches['count_key']!r} must be {counts.fewest} to {counts.most}, not {count!r:.40}"
    return ""


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, Object Count; official: image evaluators 6c7142e8",
    needs=NEEDS,
    profiles={"official": PLAIN_REPLIES},
    check=_fault,
)
def judge_count(
    trial: Trial,
    judge: Role,
    *,
    object_key: str = "object",
    count_key: str = "count",
    fewest: int = FEWEST,
    most: int = MOST,
    reading: Reading = "robust",
    lost: Lost = "unscored",
    media_first: bool = True,
    repeats: Repeats = 1,
    prompt: ChoicePrompt = "picture_count",
) -> Program[Score]:
    """1 when the judge counts as many of the row's things in the picture as its label ``count_key`` says, else 0.

    Range 0 to 1, higher is better. ``object_key`` is the label that says what is counted. The judge chooses among fewer
    than ``fewest``, each count from there to ``most``, and more. The answer must have exactly one picture that can be
    decoded, else it is 0. Unscored without the labels, or where the reply is lost; ``lost: wrong`` (profile
    ``official``) as in ``judge_presence``. ``reading: official`` takes the first character of the reply for the letter.
    ``media_first`` puts the picture before the words, ``repeats`` lets the majority decide. Evidence: ``answer``, the
    letter; ``counted``; the judge's own words.
    """
    switches = {"object_key": object_key, "count_key": count_key, "fewest": fewest, "most": most}
    if fault := _fault(trial.sample, switches):
        return Score.unscored(fault)
    picture = only_picture(trial)
    if isinstance(picture, Score):
        return picture
    labels, counts = trial.sample.metadata, Counts(fewest, most)
    asking = Asking(judge, reading, lost, media_first, repeats)
    found = yield from ask_count(asking, prompt, labels[object_key], picture, counts)
    return found.is_(counts.letter(labels[count_key])).scored(counted(found, counts))


def ask_count(asking: Asking, prompt: Written, things: str, picture: Media, counts: Counts) -> Program[Finding]:
    """How many of these things are in the picture? The answer is a letter."""
    about = About({"description": things}, picture)
    return (yield from ask_letter(asking, prompt, about, counts.options, stated=False))


def counted(found: Finding, counts: Counts) -> dict[str, Any]:
    """The evidence, with the letter spelt out."""
    return {**found.evidence, "counted": counts.options.get(found.answer)}
