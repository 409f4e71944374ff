"""What a judge looks at: the picture of an answer, the last or each of them, or the edited region of one.

Each gives the score of a trial where there is nothing to look at: 0 for what is wrong with the answer (too few or too
many pictures, one that cannot be decoded), with the reason as evidence; unscored for what is wrong with the sample.
"""

from __future__ import annotations

from mmeval.content import Media, png
from mmeval.metrics.image.editing import Region, cropped, edit_of
from mmeval.metrics.image.pictures import pictures_of, produced, the_only_picture
from mmeval.metrics.produced import wrong
from mmeval.metrics.structure.self_description import Statements, said_by
from mmeval.records import Score, Trial


def only_picture(trial: Trial) -> Media | Score:
    """The picture of an answer that has exactly one."""
    found = the_only_picture(trial)
    return found if isinstance(found, Score) else _sound(found)


def last_picture(trial: Trial, statements: Statements = "standard") -> Media | Score:
    """The last of an answer's pictures, which must have a place in it."""
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    found = pictures_of(trial.output)
    if not found or not said_by(trial.output, statements).places:
        return wrong("the answer has no picture")
    return _sound(found[-1])


def each_picture(trial: Trial, count: int) -> list[Media] | Score:
    """All pictures of an answer that has exactly so many."""
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    found = pictures_of(trial.output)
    if len(found) != count:
        return wrong(f"the answer has {len(found)} pictures, not exactly {count}")
    faults = [fault for fault in map(_sound, found) if isinstance(fault, Score)]
    return faults[0] if faults else list(found)


def edited_region(trial: Trial, *, bbox_key: str, margin: int) -> Media | Score:
    """The padded box of the edited picture, in the size of the one that was to be edited, as a PNG without a name."""
    edit = edit_of(trial, bbox_key=bbox_key, margin=margin)
    if isinstance(edit, Score):
        return edit
    return png(cropped(edit.edited, edit.box))


def region_of(trial: Trial, region: Region, *, bbox_key: str, margin: int) -> Media | Score:
    """The only picture of an answer, or its edited region."""
    return only_picture(trial) if region == "whole" else edited_region(trial, bbox_key=bbox_key, margin=margin)


def _sound(media: Media) -> Media | Score:
    pixels = produced(media)
    return pixels if isinstance(pixels, Score) else media
