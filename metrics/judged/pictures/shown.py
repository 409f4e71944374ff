"""The pictures that a judge is shown: the only, the last, each, an edited region.

Each raises Settled where there is nothing to show: with 0 for a fault of the answer
(too few or too many pictures, one that is damaged), with the reason as evidence;
unscored for a fault of the sample.
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


class Settled(Exception):
    """The score of a trial that needs no judge."""

    def __init__(self, score: Score) -> None:
        self.score = score


def unless_settled(found: T | Score) -> T:
    """The value that was found. Raises Settled where it is a score."""
    if isinstance(found, Score):
        raise Settled(found)
    return found


def answer_of(trial: Trial) -> Interleaved:
    """The answer of a trial that has one."""
    if trial.output is None:
        raise Settled(Score.unscored("there is no answer to score"))
    return trial.output


def only_picture(trial: Trial) -> Media:
    """The picture of an answer with exactly one."""
    return _sound(unless_settled(the_only_medium(trial, "image", "pictures")))


def last_picture(trial: Trial, statements: Statements = "standard") -> Media:
    """The last of an answer's pictures, which must have a place in it."""
    answer = answer_of(trial)
    found = media_of(answer, "image")
    if not found or not said_by(answer, statements).places:
        raise Settled(wrong("the answer has no picture"))
    return _sound(found[-1])


def each_picture(trial: Trial, count: int) -> list[Media]:
    """All pictures of an answer with exactly so many."""
    found = media_of(answer_of(trial), "image")
    if len(found) != count:
        why = f"the answer has {len(found)} pictures, not exactly {count}"
        raise Settled(wrong(why))
    return list(map(_sound, found))


def region_of(
    trial: Trial,
    region: Region,
    *,
    bbox_key: str,
    margin: int,
) -> Media:
    """The only picture of an answer, or the padded box of an edited one.
    The box is in the original's size, as a PNG without a name."""
    if region == "whole":
        return only_picture(trial)
    edit = unless_settled(edit_of(trial, bbox_key=bbox_key, margin=margin))
    return png(cropped(edit.edited, edit.box))


def _sound(media: Media) -> Media:
    unless_settled(produced(media))
    return media
