"""Converts media to a form that a model can read, with named routes.

A user names routes for a model (``convert=video->frames``). A program names routes for
a call (``Call.convert``, see :mod:`mmeval.backend.sendable`). If media were converted,
the answer has a warning about this.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from mmeval.backend.capabilities import ANY, Capabilities
from mmeval.backend.excerpt import (
    MAX_DOCUMENT_CHARS,
    PAGE_DPI,
    document_excerpt,
    is_large,
    is_long,
    smaller,
    sound_excerpt,
)
from mmeval.backend.render import render
from mmeval.errors import CorruptMediaError, UnknownNameError, UsageError
from mmeval.media import decode
from mmeval.media.decode.limits import DEFAULT_LIMITS, DecodeLimits
from mmeval.media.encode import png
from mmeval.media.media import Media
from mmeval.media.parts import Part, PartKind, media_part, text_part
from mmeval.program.route import Route
from mmeval.records.request import Request
from mmeval.records.sample import Message
from mmeval.system.extras import absent

FRAMES = 8
"""Number of frames of a video, evenly spaced."""
MAX_VIDEO_BYTES = 20 * 2**20
"""A video of more bytes is replaced by frames, even if the model takes video."""
MAX_PAGES = 64
"""Maximum number of pages of a document that are converted to pictures."""
_VIDEO = "av:video"
_MATERIAL = "model/mtl"


def checked_routes(names: Sequence[str]) -> tuple[str, ...]:
    """Checks the names of routes and returns them without duplicates.

    Raises UnknownNameError for an unknown name, UsageError for two routes from the same
    kind, and MissingExtraError if the package of a route is not installed.
    """
    by_kind: dict[PartKind, str] = {}
    for name in names:
        if name in LATER:
            raise UsageError(
                f"the converter {name!r} does not exist yet; choose one of these: "
                f"{', '.join(ROUTES)}"
            )
        if name not in ROUTES:
            raise UnknownNameError(
                "converter", name, ROUTES, f"Known: {', '.join(ROUTES)}."
            )
        other = by_kind.setdefault(ROUTES[name].takes, name)
        if other != name:
            raise UsageError(
                f"the converters {other!r} and {name!r} both convert "
                f"{ROUTES[name].takes}; use only one of them"
            )
    needs = [ROUTES[name].needs for name in names]
    for missing in absent(filter(None, needs)):
        raise missing
    return tuple(dict.fromkeys(names))


def widened(capabilities: Capabilities, names: Sequence[str]) -> Capabilities:
    """Returns the capabilities plus the kinds that the routes can convert.

    Raises UsageError for a route to a kind that the backend does not take.
    """
    inputs = dict(capabilities.inputs)
    for name in names:
        route = ROUTES[name]
        if route.gives not in capabilities.inputs:
            raise UsageError(
                f"the converter {name!r} returns {route.gives}, which this model does "
                "not take either"
            )
        inputs[route.takes] = ANY
    return replace(capabilities, inputs=inputs)


def convert(
    request: Request, names: Sequence[str], limits: DecodeLimits = DEFAULT_LIMITS
) -> tuple[Request, tuple[str, ...]]:
    """Converts the media of a request with the routes.

    Returns the request, and a warning for each converted medium.

    A named route is used even if the model could read the medium itself. If a route
    only shortens media, short media remain unchanged. Raises the errors of
    ``mmeval.media.decode``.
    """
    routes = {ROUTES[name].takes: name for name in names}
    if not routes or routes.keys().isdisjoint(request.kinds()):
        return request, ()
    warnings: list[str] = []
    messages: list[Message] = []
    for message in request.messages:
        parts: list[Part] = []
        for part in message.content.parts:
            media, name = part.media, routes.get(part.kind)
            if media is None or name is None:
                parts.append(part)
                continue
            route = ROUTES[name]
            due = route.due if route.takes == route.gives else None
            if due is not None and not due(media, limits):
                parts.append(part)
                continue
            converted, about = route.convert(media, limits)
            parts += converted
            warnings.append(f"{name}: {about} instead of the {part.kind}")
        content = replace(message.content, parts=tuple(parts))
        messages.append(replace(message, content=content))
    changed = Request(tuple(messages), request.params, request.wants, request.seed)
    return changed, tuple(warnings)


def even_frames(
    media: Media, count: int, *, limits: DecodeLimits = DEFAULT_LIMITS
) -> list[decode.Frame]:
    """Returns at most ``count`` different frames.

    The video is divided into equal spans, and the frame in the middle of each is taken.

    Raises the errors of ``mmeval.media.decode``.
    """
    length = decode.video_info(media, limits=limits).seconds
    # If the file declares no length, the time of the last frame replaces it.
    if not length:
        for frame in decode.video(media, limits=limits):
            length = frame.time
    times = [(number + 0.5) * length / count for number in range(count)]
    frames = {
        frame.time: frame for frame in decode.video(media, times=times, limits=limits)
    }
    if not frames:
        raise CorruptMediaError(f"{media.label}: none of its frames can be decoded")
    return [frames[moment] for moment in sorted(frames)]


def routes_to_fewer(
    capabilities: Capabilities, *, video_frames: int, first_picture: bool
) -> tuple[Route, ...]:
    """Returns the routes for a model without video, or with only one picture at a time.

    A model that does not take video gets ``video_frames`` evenly spaced frames of each
    video. If ``video_frames`` is 0, videos are not converted. With ``first_picture``, a
    model that takes a single picture gets the first picture or the first frame. A model
    that takes video and several pictures needs no route.
    """
    image = capabilities.inputs.get("image")
    if image is None:
        return ()
    is_single = first_picture and image.max_items == 1
    routes: list[Route] = []
    if "video" not in capabilities.inputs and is_single:
        routes.append(
            Route(
                "video",
                "image",
                _first_frame,
                version=2,
                name="video->first_frame",
                needs=_VIDEO,
            )
        )
    elif "video" not in capabilities.inputs and video_frames:
        frames = partial(_frames, count=video_frames)
        name = f"video->{video_frames}_frames"
        routes.append(
            Route(
                "video",
                "image",
                frames,
                version=2,
                items=video_frames,
                name=name,
                needs=_VIDEO,
            )
        )
    if is_single:
        routes.append(
            Route(
                "image",
                "image",
                lambda media, _limits: ([media_part(media)], "it"),
                name="image->first",
                only_first=True,
            )
        )
    return tuple(routes)


def _first_frame(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    from PIL import Image

    for frame in decode.video(media, times=[0.0], limits=limits):
        return [media_part(png(Image.fromarray(frame.rgb)))], "its first frame"
    raise CorruptMediaError(f"{media.label}: none of its frames can be decoded")


def _frames(
    media: Media, limits: DecodeLimits, count: int = FRAMES
) -> tuple[list[Part], str]:
    from PIL import Image

    frames = even_frames(media, count, limits=limits)
    shown = [media_part(png(Image.fromarray(frame.rgb))) for frame in frames]
    if len(shown) == 1:
        return shown, "1 frame, without sound,"
    return shown, f"{len(shown)} frames, without sound,"


def _text(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    words = str(decode.document_text(media, limits=limits))
    if not words.strip():
        raise CorruptMediaError(
            f"{media.label}: no text can be extracted; convert it with "
            "document->page_images"
        )
    return [text_part(f"\n{words}\n")], f"{len(words)} characters of text"


def _page_images(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    few = replace(limits, max_pages=min(limits.max_pages, MAX_PAGES))
    shown = [
        media_part(png(page)) for page in decode.pages(media, dpi=PAGE_DPI, limits=few)
    ]
    if len(shown) == 1:
        return shown, "1 picture of its page"
    return shown, f"{len(shown)} pictures of its pages"


def _renders(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    if media.mime == _MATERIAL:
        return document_excerpt(media, limits)
    drawn = render(decode.mesh_arrays(media, limits=limits))
    return [media_part(drawn.picture)], drawn.about


ROUTES: Mapping[str, Route] = {
    "video->frames": Route(
        "video",
        "image",
        _frames,
        version=2,
        due=lambda media, _limits: media.size > MAX_VIDEO_BYTES,
        items=FRAMES,
        needs=_VIDEO,
    ),
    "document->text": Route("document", "text", _text, version=3, items=sys.maxsize),
    "document->page_images": Route("document", "image", _page_images),
    "document->excerpt": Route(
        "document",
        "text",
        document_excerpt,
        version=3,
        items=MAX_DOCUMENT_CHARS,
    ),
    "3d->renders": Route("3d", "image", _renders, version=2),
    "audio->excerpt": Route("audio", "audio", sound_excerpt, due=is_long),
    "image->smaller": Route("image", "image", smaller, due=is_large),
}
"""The conversions of media, by name. A name is ``KIND->RESULT``."""
TO_DESCRIBE = (
    "image->smaller",
    "audio->excerpt",
    "video->frames",
    "document->excerpt",
    "3d->renders",
)
"""Routes for calls that describe media. These routes make an excerpt of a long
medium."""
LATER = ("audio->transcript",)
"""Names that are reserved for later versions."""
