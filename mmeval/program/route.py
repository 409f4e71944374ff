"""Routes: conversions of media of one kind into parts of another, for a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mmeval.media.decode import DecodeLimits
from mmeval.media.media import Media
from mmeval.media.parts import Part, PartKind


@dataclass(frozen=True, slots=True)
class Route:
    """A conversion of media of the kind ``takes`` into parts of the kind ``gives``.

    ``convert`` returns the parts and a short description of them. It raises the errors
    of ``mmeval.media.decode``, such as UnsupportedMediaError for a type that it cannot
    read. ``name`` is for a route that a program defines; the routes of mmeval have
    their names in :data:`mmeval.backend.routes.ROUTES`. Raise ``version`` with every
    change that can change an answer.

    ``due`` returns whether to convert a medium although the backend takes its kind;
    without it such media are sent unchanged. ``needs`` is an optional module, as
    ``module:extra``. ``items`` is the maximum number of parts (characters for text),
    for estimates. With ``only_first`` a request keeps only the first medium of the kind
    ``gives``, including those from other routes.
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
