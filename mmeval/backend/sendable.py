"""Makes what a call sends: its request, with media in forms that are taken.

A call names the routes that it allows (``Call.convert``, of
:mod:`mmeval.backend.routes`), or has its own. A medium of a kind that the backend does
not take is converted by the first route to a kind that it takes; a medium that is
taken, but longer than the call needs, becomes an excerpt; all others are sent as they
are. The request keeps its digest, which is of the media themselves. The routes that it
may use and their versions also decide about the answer, so they are part of the call's
name in the journal: a renderer that draws in another way asks anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from mmeval.backend.capabilities import Capabilities
from mmeval.backend.routes import ROUTES
from mmeval.errors import (
    ContentError,
    CorruptMediaError,
    MediaLimitError,
    MissingError,
    MissingExtraError,
    UnsupportedMediaError,
)
from mmeval.media import decode
from mmeval.media.decode import DEFAULT_LIMITS, DecodeLimits
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, PartKind, text_part
from mmeval.program.calls import Call
from mmeval.program.route import Route
from mmeval.records.digests import digest
from mmeval.records.request import Request
from mmeval.records.response import ErrorInfo, ErrorKind
from mmeval.records.sample import Message
from mmeval.system.extras import absent

DRAWN_BYTES = 500_000
"""Bytes of a picture that a route makes, for estimates."""


class Sendable(NamedTuple):
    """The request to send, with warnings about its changes; or why there is none."""

    request: Request
    done: tuple[str, ...] = ()
    error: ErrorInfo | None = None


def sendable(
    call: Call, capabilities: Capabilities, limits: DecodeLimits = DEFAULT_LIMITS
) -> Sendable:
    """Make what a call sends. It decodes media (seconds): call it in a thread.

    A damaged medium is an error of the kind ``bad_media``; one above the limits, or
    that would have to be converted and is not read here, is ``unsupported``; a missing
    file or package is ``internal``, as it may be there another time.
    """
    conversion = _Conversion(
        _routes(call.convert, frozenset(capabilities.inputs)), capabilities, limits
    )
    try:
        request = conversion.request(call.request)
    except _MediaError as fault:
        return Sendable(call.request, error=fault.info)
    done = tuple(conversion.done)
    gaps = capabilities.missing(request)
    if not gaps:
        return Sendable(request, done)
    error = ErrorInfo("unsupported", f"the {call.role} {'; '.join(gaps)}")
    return Sendable(request, done, error)


def missing(call: Call, capabilities: Capabilities) -> list[str]:
    """Why a backend with such capabilities cannot answer a call, by kinds of media."""
    return capabilities.missing(
        foreseen(call, capabilities) if call.convert else call.request
    )


def can_take(
    kind: PartKind, routes: Sequence[str | Route], capabilities: Capabilities
) -> bool:
    """Whether media of a kind can be sent at all, as they are or by one of the
    routes."""
    inputs = frozenset(capabilities.inputs)
    return kind in inputs or kind in _routes(tuple(routes), inputs)


def route_mark(call: Call, capabilities: Capabilities) -> str:
    """A digest of the routes that may convert the call's media, with their versions.

    It is empty where all media are sent as they are.
    """
    if not call.convert:
        return ""
    routes = _routes(call.convert, frozenset(capabilities.inputs))
    names = []
    for kind in sorted(call.request.kinds() & routes.keys()):
        route = routes[kind].route
        may_change = route.due is not None or route.only_first
        if kind not in capabilities.inputs or may_change:
            names.append(f"{routes[kind].name}.{route.version}")
    return digest(names)[:8] if names else ""


def foreseen(call: Call, capabilities: Capabilities) -> Request:
    """The request with stand-ins for converted media, for a dry run. Reads nothing."""
    converted: dict[PartKind, Route] = {}
    single: list[PartKind] = []
    for kind, named in _routes(call.convert, frozenset(capabilities.inputs)).items():
        if kind not in capabilities.inputs:
            converted[kind] = named.route
        if named.route.only_first:
            single.append(named.route.gives)
    if call.request.kinds().isdisjoint((*converted, *single)):
        return call.request
    messages: list[Message] = []
    for message in call.request.messages:
        parts: list[Part] = []
        for part in message.content.parts:
            parts += _stand_in(part, converted.get(part.kind))
        messages.append(replace(message, content=Interleaved(tuple(parts))))
    for kind in single:
        messages = _first_alone(messages, kind)
    return replace(call.request, messages=tuple(messages))


def absent_packages(call: Call, capabilities: Capabilities) -> list[MissingExtraError]:
    """The packages without which media of a call cannot be converted to what is
    taken."""
    routes = _routes(call.convert, frozenset(capabilities.inputs))
    kinds = call.request.kinds() - capabilities.inputs.keys()
    needs = [routes[kind].route.needs for kind in kinds & routes.keys()]
    return list(absent(filter(None, needs)))


@dataclass(frozen=True)
class _Named:
    name: str
    route: Route


@lru_cache(maxsize=64)
def _routes(
    names: tuple[str | Route, ...], inputs: frozenset[PartKind]
) -> Mapping[PartKind, _Named]:
    """The first route for each kind that leads to one of the inputs, which are
    taken."""
    found: dict[PartKind, _Named] = {}
    for item in names:
        route = ROUTES[item] if isinstance(item, str) else item
        name = item if isinstance(item, str) else item.name
        if route.gives in inputs:
            found.setdefault(route.takes, _Named(name, route))
    return found


class _MediaError(Exception):
    """A medium that cannot be sent."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        self.info = ErrorInfo(kind, message)


class _Conversion:
    """Converts the media of one request where needed, and lists this in ``done``."""

    def __init__(
        self,
        routes: Mapping[PartKind, _Named],
        capabilities: Capabilities,
        limits: DecodeLimits,
    ) -> None:
        self.done: list[str] = []
        self._routes = routes
        self._capabilities = capabilities
        self._limits = limits

    def request(self, request: Request) -> Request:
        """The request to send, with the digest of the original one. Raises
        _MediaError."""
        messages: list[Message] = []
        for message in request.messages:
            parts: list[Part] = []
            for part in message.content.parts:
                parts += self._parts(part)
            messages.append(replace(message, content=Interleaved(tuple(parts))))
        for named in self._routes.values():
            kind = named.route.gives
            count = sum(len(message.content.media(kind)) for message in messages)
            if named.route.only_first and count > 1:
                messages = _first_alone(messages, kind)
                self.done.append(f"{named.name}: the first {kind} of {count}")
        if not self.done:
            return request
        return request.with_messages(tuple(messages))

    def _parts(self, part: Part) -> list[Part]:
        """The parts to send for a part."""
        media = part.media
        if media is None:
            return [part]
        named = self._routes.get(part.kind)
        try:
            is_taken = part.kind in self._capabilities.inputs
            if is_taken and (
                named is None or not _due(named.route, media, self._limits)
            ):
                _check(media, self._limits)
                return [part]
            if named is None:
                # the check of the whole request reports that it is not taken
                return [part]
            made, about = named.route.convert(media, self._limits)
        except CorruptMediaError as error:
            try:
                media.read()
            except (ContentError, MissingError) as changed:  # or its file is gone
                raise _MediaError("internal", str(changed)) from None
            raise _MediaError("bad_media", str(error)) from None
        except (MediaLimitError, UnsupportedMediaError) as error:
            raise _MediaError("unsupported", str(error)) from None
        except MissingError as error:
            raise _MediaError("internal", str(error)) from None
        self.done.append(f"{named.name}: {about} instead of the {part.kind}")
        return made


def _first_alone(messages: Sequence[Message], kind: PartKind) -> list[Message]:
    """The messages without the media of a kind after the first one."""
    made: list[Message] = []
    is_later = False
    for message in messages:
        parts: list[Part] = []
        for part in message.content.parts:
            is_medium = part.kind == kind and part.media is not None
            if not (is_medium and is_later):
                parts.append(part)
            is_later = is_later or is_medium
        made.append(replace(message, content=Interleaved(tuple(parts))))
    return made


def _due(
    route: Route,
    media: Media,
    limits: DecodeLimits,
) -> bool:
    try:
        return route.due is not None and route.due(media, limits)
    except MissingExtraError:  # it cannot be decoded here, and the backend takes it
        return False


def _check(media: Media, limits: DecodeLimits) -> None:
    """Raises CorruptMediaError by a quick check for a medium that is sent as it is."""
    if not media.size:
        raise CorruptMediaError(f"{media.label}: it is empty (0 bytes)")
    try:
        if media.mime == "application/pdf":
            decode.page_count(media, limits=limits)
        elif media.kind == "image":
            decode.image(media, limits=limits)
        elif media.kind == "audio":
            decode.sound_start(media, 1.0, limits=limits)
        elif media.kind == "video":
            decode.video_info(media, limits=limits)
        elif media.kind == "3d":
            decode.mesh_arrays(media, limits=limits)
    # the backend may read what is not read here
    except (MissingExtraError, MediaLimitError, UnsupportedMediaError):
        return


def _stand_in(part: Part, route: Route | None) -> list[Part]:
    """About what a route makes of a part."""
    media = part.media
    if route is None or media is None:
        return [part]
    if route.gives == "text":
        return [text_part("x" * min(media.size, route.items))]
    drawn = Media(data=b"", sha256=media.sha256, mime="image/png", size=DRAWN_BYTES)
    return [Part(route.gives, media=drawn)] * route.items
