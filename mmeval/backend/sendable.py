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
    conversion = _Conversion(_routes(call.convert, capabilities), capabilities, limits)
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
    return kind in capabilities.inputs or kind in _routes(tuple(routes), capabilities)


def route_mark(call: Call, capabilities: Capabilities) -> str:
    """A digest of the routes that may convert the call's media, with their versions.

    It is empty where all media are sent as they are.
    """
    if not call.convert:
        return ""
    routes = _routes(call.convert, capabilities)
    kinds = call.request.kinds() & routes.keys()
    named = [
        routes[kind]
        for kind in sorted(kinds)
        if kind not in capabilities.inputs or _may_change(routes[kind].route)
    ]
    names = [f"{one.name}.{one.route.version}" for one in named]
    return digest(names)[:8] if names else ""


def foreseen(call: Call, capabilities: Capabilities) -> Request:
    """The request with stand-ins for converted media, for a dry run. Reads nothing."""
    routes = _routes(call.convert, capabilities)
    away = {
        kind: named.route
        for kind, named in routes.items()
        if kind not in capabilities.inputs
    }
    first = [named.route.gives for named in routes.values() if named.route.only_first]
    if not (away.keys() | set(first)) & call.request.kinds():
        return call.request
    messages = tuple(
        replace(one, content=_stood_in(one.content, away))
        for one in call.request.messages
    )
    for kind in first:
        messages = _first_alone(messages, kind)
    return replace(call.request, messages=messages)


def absent_packages(call: Call, capabilities: Capabilities) -> list[MissingExtraError]:
    """The packages without which media of a call cannot be converted to what is
    taken."""
    kinds = call.request.kinds() - capabilities.inputs.keys()
    routes = _routes(call.convert, capabilities)
    return list(
        absent(
            routes[kind].route.needs
            for kind in kinds & routes.keys()
            if routes[kind].route.needs
        )
    )


@dataclass(frozen=True)
class _Named:
    name: str
    route: Route


@lru_cache(maxsize=64)
def _of_inputs(
    routes: tuple[str | Route, ...], inputs: frozenset[PartKind]
) -> Mapping[PartKind, _Named]:
    found: dict[PartKind, _Named] = {}
    for item in routes:
        named = (
            _Named(item, ROUTES[item])
            if isinstance(item, str)
            else _Named(item.name, item)
        )
        if named.route.gives in inputs:
            found.setdefault(named.route.takes, named)
    return found


def _routes(
    names: tuple[str | Route, ...], capabilities: Capabilities
) -> Mapping[PartKind, _Named]:
    """The first route for each kind that leads to a kind which is taken."""
    return _of_inputs(names, frozenset(capabilities.inputs))


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
        self._routes, self._capabilities, self._limits = routes, capabilities, limits

    def request(self, request: Request) -> Request:
        """The request to send, with the digest of the original one. Raises
        _MediaError."""
        messages = tuple(self._message(message) for message in request.messages)
        for named in self._routes.values():
            if (
                named.route.only_first
                and (count := _count(messages, named.route.gives)) > 1
            ):
                messages = _first_alone(messages, named.route.gives)
                self.done.append(
                    f"{named.name}: the first {named.route.gives} of {count}"
                )
        if not self.done:
            return request
        return request.with_messages(messages)

    def _message(self, message: Message) -> Message:
        parts = [made for part in message.content.parts for made in self._parts(part)]
        return replace(message, content=Interleaved(tuple(parts)))

    def _parts(self, part: Part) -> list[Part]:
        if part.media is None:
            return [part]
        try:
            return self._made(part, part.media)
        except CorruptMediaError as error:
            raise _damaged(part.media, error) from None
        except (MediaLimitError, UnsupportedMediaError) as error:
            raise _MediaError("unsupported", str(error)) from None
        except MissingError as error:
            raise _MediaError("internal", str(error)) from None

    def _made(self, part: Part, media: Media) -> list[Part]:
        """The parts to send for a medium. Raises the errors of ``media.decode``."""
        named = self._routes.get(part.kind)
        if part.kind in self._capabilities.inputs and not (
            named and _due(named.route, media, self._limits)
        ):
            _check(media, self._limits)
            return [part]
        if named is None:
            return [part]  # the check of the whole request reports that it is not taken
        made, about = named.route.convert(media, self._limits)
        self.done.append(f"{named.name}: {about} instead of the {part.kind}")
        return made


def _damaged(media: Media, error: CorruptMediaError) -> _MediaError:
    """The error for a damaged medium; ``internal`` where its file changed or is
    gone."""
    try:
        media.read()
    except (ContentError, MissingError) as changed:
        return _MediaError("internal", str(changed))
    return _MediaError("bad_media", str(error))


def _count(messages: Sequence[Message], kind: PartKind) -> int:
    return sum(len(message.content.media(kind)) for message in messages)


def _first_alone(messages: Sequence[Message], kind: PartKind) -> tuple[Message, ...]:
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
    return tuple(made)


def _may_change(route: Route) -> bool:
    """Whether a route may change media of a kind that is taken."""
    return route.due is not None or route.only_first


def _due(route: Route, media: Media, limits: DecodeLimits) -> bool:
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


def _stood_in(content: Interleaved, routes: Mapping[PartKind, Route]) -> Interleaved:
    parts: list[Part] = []
    for part in content.parts:
        route = None if part.media is None else routes.get(part.kind)
        if route is None or part.media is None:
            parts.append(part)
        elif route.gives == "text":
            parts.append(text_part("x" * min(part.media.size, route.items)))
        else:
            drawn = Media(
                data=b"", sha256=part.media.sha256, mime="image/png", size=DRAWN_BYTES
            )
            parts += [Part(route.gives, media=drawn)] * route.items
    return Interleaved(tuple(parts))
