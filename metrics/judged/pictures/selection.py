"""The pictures that a judge sees: the only one, the last, each, or an edited region.

The functions raise ScoredWithoutJudge if there is nothing to show. The score is 0, with
the reason as evidence, if the answer is at fault (too few or too many pictures, or a
damaged picture). It is unscored if the sample is at fault.
"""

from __future__ import annotations

from typing import TypeVar

from mmeval.media import Interleaved, Media, png
from mmeval.metrics.image.editing import Region, cropped, edit_of
from mmeval.metrics.image.pictures import produced
from mmeval.metrics.produced import media_of, the_only_medium, wrong
from mmeval.metrics.structure.self_description import Statements, said_by
from mmeval.records import Score, Trial

T = TypeVar("T")


class ScoredWithoutJudge(Exception):
    """Carries the score of a trial that does not need the judge."""

    def __init__(self, score: Score) -> None:
        self.score = score


def value_or_raise(value: T | Score) -> T:
    """Returns the value. Raises ScoredWithoutJudge if the value is a score."""
    if isinstance(value, Score):
        raise ScoredWithoutJudge(value)
    return value


def answer_of(trial: Trial) -> Interleaved:
    """Returns the answer of a trial. Raises ScoredWithoutJudge if there is none."""
    if trial.output is None:
        raise ScoredWithoutJudge(Score.unscored("there is no answer to score"))
    return trial.output


def only_picture(trial: Trial) -> Media:
    """Returns the picture of an answer with exactly one picture."""
    return _decodable(value_or_raise(the_only_medium(trial, "image", "pictures")))


def last_picture(trial: Trial, statements: Statements = "standard") -> Media:
    """Returns the last picture of an answer.

    The answer's text must contain a position for this picture.
    """
    answer = answer_of(trial)
    pictures = media_of(answer, "image")
    if not pictures or not said_by(answer, statements).places:
        raise ScoredWithoutJudge(wrong("the answer has no picture"))
    return _decodable(pictures[-1])


def each_picture(trial: Trial, count: int) -> list[Media]:
    """Returns all pictures of an answer with exactly ``count`` pictures."""
    pictures = media_of(answer_of(trial), "image")
    if len(pictures) != count:
        why = f"the answer has {len(pictures)} pictures, not exactly {count}"
        raise ScoredWithoutJudge(wrong(why))
    return list(map(_decodable, pictures))


def region_of(
    trial: Trial,
    region: Region,
    *,
    bbox_key: str,
    margin: int,
) -> Media:
    """Returns the only picture of an answer, or the padded box of an edited picture.

    The edited picture is scaled to the original's size before the box is cut out. The
    result is a PNG without a name.
    """
    if region == "whole":
        return only_picture(trial)
    edit = value_or_raise(edit_of(trial, bbox_key=bbox_key, margin=margin))
    return png(cropped(edit.edited, edit.box))


def _decodable(media: Media) -> Media:
    value_or_raise(produced(media))
    return media
