"""Generation parameters and modality options in the spelling of the interfaces."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from mmeval.model_backends.gemini.settings import Settings
from mmeval.records import GenerationParams, Request

_SHAPES = ("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")
_PIXELS = re.compile(r"(\d{1,5})x(\d{1,5})")
_WORDS = ("text", "code")
_NAMED_SIZE = re.compile(r"512|[1248]K", re.IGNORECASE)


def sampling(
    request: Request, settings: Settings, names: Mapping[str, str]
) -> dict[str, Any]:
    """The fields for generation; ``names`` are those of the interface."""
    params = request.params
    values: dict[str, Any] = {
        "temperature": params.temperature,
        "top_p": params.top_p,
        "top_k": params.top_k,
        "max_tokens": params.max_tokens,
        "stop": list(params.stop) or None,
        "seed": request.seed if settings.send_seed else None,
    }
    fields = {}
    for name, value in values.items():
        if value is not None and name in names:
            fields[names[name]] = value
    return fields


def wanted_kinds(request: Request, settings: Settings) -> list[str]:
    """What is asked for, where it is more than words. A model that also writes is asked
    for words too, as some refuse pictures alone."""
    wanted: list[str] = [*dict.fromkeys(request.wants)]
    media = [kind for kind in wanted if kind not in _WORDS]
    if media and "text" in settings.capabilities.outputs:
        return ["text", *media]
    return media


def voice(params: GenerationParams, settings: Settings) -> str:
    return str(params.options.get("audio.voice") or settings.voice)


def picture_fields(
    params: GenerationParams,
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The shape and the size of pictures as ``aspect_ratio`` and ``image_size``, and
    what cannot be said of them."""
    fields: dict[str, str] = {}
    warnings: tuple[str, ...] = ()
    size = str(params.options.get("image.size", "auto"))
    pixels = _PIXELS.fullmatch(size)
    if _NAMED_SIZE.fullmatch(size):
        fields["image_size"] = size.upper()
    elif pixels:
        width, height = int(pixels[1]), int(pixels[2])
        divisor = math.gcd(width, height) or 1
        shape = f"{width // divisor}:{height // divisor}"
        if shape == "7:3":
            shape = "21:9"
        if shape in _SHAPES:
            fields["aspect_ratio"] = shape
            note = f"image.size={size} is sent as its shape, {shape}"
        else:
            note = f"image.size={size} has none of the known shapes; not sent"
        warnings = (note,)
    elif size != "auto":
        warnings = (f"image.size={size} is not a known size; not sent",)
    if "image.aspect_ratio" in params.options:
        fields["aspect_ratio"] = str(params.options["image.aspect_ratio"])
    return fields, warnings


def unsent(params: GenerationParams, names: Collection[str]) -> tuple[str, ...]:
    """A warning for parameters without a field; ``names`` are those with one."""
    given = []
    for name in ("temperature", "top_p", "top_k", "max_tokens", "stop"):
        if name not in names and getattr(params, name) not in (None, ()):
            given.append(name)
    return (f"there is no field for {', '.join(given)}; not sent",) if given else ()
