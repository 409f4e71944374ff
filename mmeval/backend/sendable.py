"""Makes the request that a call sends, with media in forms that the backend takes.

A call names the routes that it allows (``Call.convert``, from
:mod:`mmeval.backend.routes`), or has its own routes. If the backend does not take the
kind of a medium, the medium is converted by the first route that leads to a kind that
the backend takes. If a medium is longer than the call needs, an excerpt is sent. All
other media are sent unchanged.

The digest of the request is still computed from the original media. The journal key of
the call contains the routes that the call may use, with their versions. So the call is
sent again when a renderer gets a new version.
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
from mmeval.media.decode.limits import DEFAULT_LIMITS, DecodeLimits
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
"""The estimated size in bytes of a picture that a route makes."""


class Sendable(NamedTuple):
    """The request to send, with warnings about what was changed, or an error."""

    request: Request
    done: tuple[str, ...] = ()
    error: ErrorInfo | None = None


def sendable(
    call: Call, capabilities: Capabilities, limits: DecodeLimits = DEFAULT_LIMITS
) -> Sendable:
    """Makes the request that a call sends.

    This decodes media, which takes seconds, so call it in a thread. A damaged medium
    leads to a ``bad_media`` error. A medium that exceeds the limits or cannot be
    converted leads to an ``unsupported`` error. A missing file or package leads to an
    ``internal`` error, because it may be available later.
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
    """Returns the reasons why these capabilities do not fit a call.

    The list is empty if the capabilities fit.
    """
    return capabilities.missing(
        foreseen(call, capabilities) if call.convert else call.request
    )


def can_take(
    kind: PartKind, routes: Sequence[str | Route], capabilities: Capabilities
) -> bool:
    """Returns True if media of a kind can be sent, unchanged or with a route."""
    inputs = frozenset(capabilities.inputs)
    return kind in inputs or kind in _routes(tuple(routes), inputs)


def route_mark(call: Call, capabilities: Capabilities) -> str:
    """Returns a digest of the routes that may convert the call's media.

    The digest covers the versions of the routes.

    The string is empty if all media are sent unchanged.
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
    """Returns the request with placeholders for converted media.

    No media are read, so this function can be used in a dry run.
    """
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
        messages = _with_only_first(messages, kind)
    return replace(call.request, messages=tuple(messages))


def absent_packages(call: Call, capabilities: Capabilities) -> list[MissingExtraError]:
    """Returns the missing packages that are needed to convert the media of a call."""
    routes = _routes(call.convert, frozenset(capabilities.inputs))
    kinds = call.request.kinds() - capabilities.inputs.keys()
    needs = [routes[kind].route.needs for kind in kinds & routes.keys()]
    return list(absent(filter(None, needs)))


@dataclass(frozen=True)
class _NamedRoute:
    name: str
    route: Route


@lru_cache(maxsize=64)
def _routes(
    names: tuple[str | Route, ...], inputs: frozenset[PartKind]
) -> Mapping[PartKind, _NamedRoute]:
    """Returns, for each kind, the first route to one of the kinds in ``inputs``."""
    routes: dict[PartKind, _NamedRoute] = {}
    for item in names:
        route = ROUTES[item] if isinstance(item, str) else item
        name = item if isinstance(item, str) else item.name
        if route.gives in inputs:
            routes.setdefault(route.takes, _NamedRoute(name, route))
    return routes


class _MediaError(Exception):
    """The error for a medium that cannot be sent."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        self.info = ErrorInfo(kind, message)


class _Conversion:
    """Converts the media of one request where needed. ``done`` lists the changes."""

    def __init__(
        self,
        routes: Mapping[PartKind, _NamedRoute],
        capabilities: Capabilities,
        limits: DecodeLimits,
    ) -> None:
        self.done: list[str] = []
        self._routes = routes
        self._capabilities = capabilities
        self._limits = limits

    def request(self, request: Request) -> Request:
        """Returns the request to send, with the original digest. Raises _MediaError."""
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
                messages = _with_only_first(messages, kind)
                self.done.append(f"{named.name}: the first {kind} of {count}")
        if not self.done:
            return request
        return request.with_messages(tuple(messages))

    def _parts(self, part: Part) -> list[Part]:
        """Returns the parts to send instead of a part."""
        media = part.media
        if media is None:
            return [part]
        named = self._routes.get(part.kind)
        try:
            is_taken = part.kind in self._capabilities.inputs
            if is_taken and (
                named is None or not _is_due(named.route, media, self._limits)
            ):
                _check(media, self._limits)
                return [part]
            if named is None:
                # The check of the whole request reports the unsupported kind.
                return [part]
            converted, about = named.route.convert(media, self._limits)
        except CorruptMediaError as error:
            try:
                media.read()
            # The decoding failed because the file has changed or is gone.
            except (ContentError, MissingError) as changed:
                raise _MediaError("internal", str(changed)) from None
            raise _MediaError("bad_media", str(error)) from None
        except (MediaLimitError, UnsupportedMediaError) as error:
            raise _MediaError("unsupported", str(error)) from None
        except MissingError as error:
            raise _MediaError("internal", str(error)) from None
        self.done.append(f"{named.name}: {about} instead of the {part.kind}")
        return converted


def _with_only_first(messages: Sequence[Message], kind: PartKind) -> list[Message]:
    """Returns the messages with only the first medium of a kind."""
    shortened: list[Message] = []
    is_later = False
    for message in messages:
        parts: list[Part] = []
        for part in message.content.parts:
            is_medium = part.kind == kind and part.media is not None
            if not (is_medium and is_later):
                parts.append(part)
            is_later = is_later or is_medium
        shortened.append(replace(message, content=Interleaved(tuple(parts))))
    return shortened


def _is_due(
    route: Route,
    media: Media,
    limits: DecodeLimits,
) -> bool:
    try:
        return route.due is not None and route.due(media, limits)
    # The medium cannot be decoded here, but the backend takes it unchanged.
    except MissingExtraError:
        return False


def _check(media: Media, limits: DecodeLimits) -> None:
    """Checks a medium that is sent unchanged. Raises CorruptMediaError."""
    if not media.size:
        raise CorruptMediaError(f"{media.label}: the file is empty (0 bytes)")
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
    # The backend may be able to read a medium that cannot be read here.
    except (MissingExtraError, MediaLimitError, UnsupportedMediaError):
        return


def _stand_in(part: Part, route: Route | None) -> list[Part]:
    """Returns placeholders for the parts that a route makes from a part."""
    media = part.media
    if route is None or media is None:
        return [part]
    if route.gives == "text":
        return [text_part("x" * min(media.size, route.items))]
    drawn = Media(data=b"", sha256=media.sha256, mime="image/png", size=DRAWN_BYTES)
    return [Part(route.gives, media=drawn)] * route.items
