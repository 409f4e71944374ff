"""Reads the inputs of a pipeline from a request: a text, and pictures in order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mmeval.errors import ContentError, MissingError
from mmeval.media import Media
from mmeval.media.decode import image as decoded_image
from mmeval.model_backends.diffusers.kinds import PipelineKind
from mmeval.model_backends.hf.failures import RowError
from mmeval.records import Request

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Inputs:
    """The text and the pictures of a request. Pictures are upright and RGB."""

    text: str
    pictures: tuple[Image, ...] = ()


def inputs_of(request: Request, kind: PipelineKind) -> Inputs:
    """Returns the inputs of a pipeline.

    Raises RowError if the text is missing, or if a picture cannot be read.
    """
    pictures: list[Image] = []
    for message in request.messages:
        for part in message.content.parts:
            if part.kind == "image" and part.media is not None:
                pictures.append(_picture(part.media))
    text = prompt_of(request) if kind.takes_text else ""
    if kind.takes_text and not text:
        raise RowError(
            "bad_request",
            f"the request has no text from which to make the {kind.gives}",
        )
    return Inputs(text, tuple(pictures))


def prompt_of(request: Request) -> str:
    """Joins the texts of all messages in order.

    Lone surrogates are removed, since tokenizers cannot read them.
    """
    texts = [message.content.text.strip() for message in request.messages]
    text = "\n\n".join(filter(None, texts))
    return text.encode("utf-8", "replace").decode()


def size_like(picture: Image, *, most_pixels: int, multiple: int) -> tuple[int, int]:
    """Returns a width and a height with the aspect ratio of a picture.

    They are those of the picture if it has at most ``most_pixels``, rounded down to
    multiples of ``multiple``.
    """
    width, height = picture.size
    scale = min(1.0, math.sqrt(most_pixels / (width * height)))
    rounded_width = int(width * scale) // multiple * multiple
    rounded_height = int(height * scale) // multiple * multiple
    return max(multiple, rounded_width), max(multiple, rounded_height)


def _picture(media: Media) -> Image:
    from PIL import Image

    try:
        picture = decoded_image(media)
    except ContentError as error:
        raise RowError("bad_request", f"a picture cannot be read: {error}") from None
    except MissingError as error:
        raise RowError("internal", f"a picture cannot be read: {error}") from None
    if picture.mode == "RGBA":
        # What is transparent has any colour; on paper it is white.
        paper = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(paper, picture)
    return picture.convert("RGB")
