"""The conversion of media of one kind into parts of another, for a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mmeval.media.decode import DecodeLimits
from mmeval.media.media import Media
from mmeval.media.parts import Part, PartKind


@dataclass(frozen=True, slots=True)
class Route:
    """A conversion of media of the kind ``takes`` into parts of the kind ``gives``.

    ``convert`` returns the parts and a few words about them, and raises the errors of
    ``mmeval.media.decode``: UnsupportedMediaError for a type that it does not read. The
    routes of mmeval have their names in :data:`mmeval.backend.routes.ROUTES`; one of a
    program has a ``name`` of its own, which distinguishes its answers. ``version`` is
    raised whenever a change of the parts could change an answer. ``due`` is whether a
    medium of a kind that is taken should be converted all the same; without it none is.
    ``needs`` is the module of an extra that it imports, as ``module:extra``. ``items``
    is the largest number of parts, or of characters, for estimates. With ``only_first``
    a request keeps the first medium of the kind ``gives``, also of those that other
    routes make.
    """

    takes: PartKind
    gives: PartKind
    convert: Callable[[Media, DecodeLimits], tuple[list[Part], str]]
    version: int = 1
    due: Callable[[Media, DecodeLimits], bool] | None = None
    items: int = 1
    name: str = ""
    only_first: bool = False
    needs: str = ""
