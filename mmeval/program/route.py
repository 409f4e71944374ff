"""A way to turn media of one kind into parts of another, as a part of a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mmeval.content.media import Media
from mmeval.content.parts import Part, PartKind
from mmeval.decode import DecodeLimits


def _anything(_media: Media) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Route:
    """One way to give a kind of part as another. ``convert`` gives the parts and what they are, in a few words.

    A route of this module is known by its name in ``ROUTES``; one that a program brings along has a ``name`` of its
    own, by which answers are told apart. ``version`` is raised whenever what it makes could change an answer. ``due``
    says of a medium whose kind is taken that it is better given in the other form; without it none is. ``reads`` says
    whether it can do anything with a medium of its type. ``items`` is how many parts it makes, or characters of text,
    at most: for estimates.
    """

    takes: PartKind
    gives: PartKind
    convert: Callable[[Media, DecodeLimits], tuple[list[Part], str]]
    version: int = 1
    due: Callable[[Media, DecodeLimits], bool] | None = None
    reads: Callable[[Media], bool] = _anything
    items: int = 1
    name: str = ""
