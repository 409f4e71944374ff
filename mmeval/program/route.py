"""Routes convert media of one kind into parts of another kind, for a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mmeval.media.decode.limits import DecodeLimits
from mmeval.media.media import Media
from mmeval.media.parts import Part, PartKind


@dataclass(frozen=True, slots=True)
class Route:
    """A conversion of media of the kind ``takes`` into parts of the kind ``gives``.

    ``convert`` returns the parts and a short description of them. It raises the errors
    of ``mmeval.media.decode``, such as UnsupportedMediaError for a type that it cannot
    read. A program that defines its own route sets ``name``. The names of mmeval's
    routes are in :data:`mmeval.backend.routes.ROUTES`. Increase ``version`` with every
    change to the route that can change an answer.

    ``due`` returns True for a medium to convert although the backend accepts its kind.
    Without ``due``, such media are sent unchanged. ``needs`` names a module of an
    extra, as ``module:extra``. ``items`` is the maximum number of parts (or of
    characters, for text), which estimates use. With ``only_first`` a request keeps only
    the first medium of the kind ``gives``, including those from other routes.
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
