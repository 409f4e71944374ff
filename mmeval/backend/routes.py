"""Converters of input: what a model cannot read, given to it in a form that it can, by name and never in silence.

A user names them for a model (``convert=video->frames``), a program for a call (``Call.convert``, see
:mod:`mmeval.backend.sendable`); each answer that they touched carries a warning that says what was done.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mmeval.backend.capabilities import ANY, Capabilities
from mmeval.backend.excerpt import (
    MAX_DOCUMENT_CHARS,
    PAGE_DPI,
    document_excerpt,
    is_large,
    is_long,
    is_read,
    smaller,
    sound_excerpt,
)
from mmeval.backend.render import render
from mmeval.content.encode import png
from mmeval.content.media import Media
from mmeval.content.parts import Part, PartKind, media_part, text_part
from mmeval.decode import DEFAULT_LIMITS, DecodeLimits, Frame, document_text, mesh_arrays, pages, video, video_info
from mmeval.errors import CorruptMediaError, UnknownNameError, UsageError
from mmeval.program.route import Route
from mmeval.records.request import Request
from mmeval.records.sample import Message

if TYPE_CHECKING:
    from PIL.Image import Image

FRAMES = 8
"""Taken evenly over a video."""
MAX_VIDEO_BYTES = 20 * 2**20
"""A film above it is shown as frames where only what it holds is asked for."""
_MATERIAL = "model/mtl"
_LOOSE_GLTF = "model/gltf+json"
"""Its geometry lies in other files."""
MAX_PAGES = 64
"""More pictures than this are no fallback for a document: its text is."""


def checked_routes(names: Sequence[str]) -> tuple[str, ...]:
    """The names, once each. Raises UnknownNameError for one that there is not, UsageError for two that take a kind."""
    taken: dict[PartKind, str] = {}
    for name in names:
        if name in LATER:
            raise UsageError(f"the converter {name!r} is not in this version; there are {', '.join(ROUTES)}")
        if name not in ROUTES:
            raise UnknownNameError("converter", name, ROUTES, f"Known: {', '.join(ROUTES)}.")
        other = taken.setdefault(ROUTES[name].takes, name)
        if other != name:
            raise UsageError(f"the converters {other!r} and {name!r} both take {ROUTES[name].takes}; name one of them")
    return tuple(dict.fromkeys(names))


def widened(capabilities: Capabilities, names: Sequence[str]) -> Capabilities:
    """The capabilities with the kinds that can be given in a form that is taken.

    Raises UsageError for a converter that makes what is not taken either.
    """
    inputs = dict(capabilities.inputs)
    for name in names:
        route = ROUTES[name]
        if route.gives not in capabilities.inputs:
            raise UsageError(f"the converter {name!r} makes {route.gives}, which this model does not take either")
        inputs[route.takes] = ANY
    return replace(capabilities, inputs=inputs)


def convert(
    request: Request, names: Sequence[str], limits: DecodeLimits = DEFAULT_LIMITS
) -> tuple[Request, tuple[str, ...]]:
    """The request with every medium that a named converter takes in its other form, and what was done, as warnings.

    A named converter is used whether or not the model could read the medium itself: what a machine has installed must
    not decide what a model is shown. One that only shortens leaves what is short. Raises the errors of
    ``mmeval.decode``.
    """
    routes = {ROUTES[name].takes: name for name in names}
    if not routes or routes.keys().isdisjoint(request.kinds()):
        return request, ()
    done: list[str] = []
    messages = tuple(_converted(message, routes, limits, done) for message in request.messages)
    return Request(messages, request.params, request.wants, request.seed), tuple(done)


def even_frames(media: Media, count: int, *, limits: DecodeLimits = DEFAULT_LIMITS) -> list[Frame]:
    """At most ``count`` different frames, in order: each from the middle of an equal share of the video.

    Raises the errors of ``mmeval.decode``.
    """
    length = video_info(media, limits=limits).seconds or _measured(media, limits)
    times = [(number + 0.5) * length / count for number in range(count)]
    frames = {frame.time: frame for frame in video(media, times=times, limits=limits)}
    if not frames:
        raise CorruptMediaError(f"{media.label}: no picture in it can be decoded")
    return [frames[moment] for moment in sorted(frames)]


def _measured(media: Media, limits: DecodeLimits) -> float:
    """Seconds of a video that does not say how long it is: the time of its last frame."""
    last = 0.0
    for frame in video(media, limits=limits):
        last = frame.time
    return last


def _converted(message: Message, routes: Mapping[PartKind, str], limits: DecodeLimits, done: list[str]) -> Message:
    parts: list[Part] = []
    for part in message.content.parts:
        if part.media is None or part.kind not in routes:
            parts.append(part)
            continue
        name = routes[part.kind]
        route = ROUTES[name]
        if route.takes == route.gives and route.due is not None and not route.due(part.media, limits):
            parts.append(part)
            continue
        made, about = route.convert(part.media, limits)
        parts += made
        done.append(f"{name}: {about} instead of the {part.kind}")
    return replace(message, content=replace(message.content, parts=tuple(parts)))


def _frames(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    from PIL import Image

    frames = even_frames(media, FRAMES, limits=limits)
    shown = "1 frame" if len(frames) == 1 else f"{len(frames)} frames"
    return [media_part(png(Image.fromarray(frame.rgb))) for frame in frames], f"{shown}, without sound,"


def _text(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    words = str(document_text(media, limits=limits))
    if not words.strip():
        raise CorruptMediaError(
            f"{media.label}: it holds no text that could be read out; show its pages with document->page_images"
        )
    return [text_part(f"\n{words}\n")], f"{len(words)} characters of text"


def _page_images(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    few = replace(limits, max_pages=min(limits.max_pages, MAX_PAGES))
    shown = [media_part(png(page)) for page in _rendered(media, few)]
    return shown, "1 picture of its page" if len(shown) == 1 else f"{len(shown)} pictures of its pages"


def _is_big(media: Media, _limits: DecodeLimits) -> bool:
    return media.size > MAX_VIDEO_BYTES


def _is_drawn(media: Media) -> bool:
    return media.mime != _LOOSE_GLTF


def _renders(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    if media.mime == _MATERIAL:
        return document_excerpt(media, limits)
    drawn = render(mesh_arrays(media, limits=limits))
    return [media_part(drawn.picture)], drawn.about


def _rendered(media: Media, limits: DecodeLimits) -> Iterator[Image]:
    return pages(media, dpi=PAGE_DPI, limits=limits)


ROUTES: Mapping[str, Route] = {
    "video->frames": Route("video", "image", _frames, due=_is_big, items=FRAMES),
    "document->text": Route("document", "text", _text, version=2, items=sys.maxsize),
    "document->page_images": Route("document", "image", _page_images),
    "document->excerpt": Route(
        "document", "text", document_excerpt, version=2, reads=is_read, items=MAX_DOCUMENT_CHARS
    ),
    "3d->renders": Route("3d", "image", _renders, reads=_is_drawn),
    "audio->excerpt": Route("audio", "audio", sound_excerpt, due=is_long),
    "image->smaller": Route("image", "image", smaller, due=is_large),
}
TO_DESCRIBE = ("image->smaller", "audio->excerpt", "video->frames", "document->excerpt", "3d->renders")
"""For whoever is asked what a medium holds: a form that is taken, and no more of it than that needs."""
LATER = ("audio->transcript",)
"""Known by name only."""
