"""Generation parameters and modality options as fields of the interfaces."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from mmeval.model_backends.gemini.settings import GeminiSettings
from mmeval.records import GenerationParams, Request

_RATIOS = ("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")
_PIXELS = re.compile(r"(\d{1,5})x(\d{1,5})")
_WORDS = ("text", "code")
_NAMED_SIZE = re.compile(r"512|[1248]K", re.IGNORECASE)


def sampling(
    request: Request, settings: GeminiSettings, names: Mapping[str, str]
) -> dict[str, Any]:
    """Returns the generation fields.

    ``names`` maps our parameter names to the names in the interface.
    """
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


def modalities(request: Request, settings: GeminiSettings) -> list[str]:
    """Returns the modalities to request, or an empty list if only text is wanted.

    If the model can write, text is always requested too, because some models refuse to
    return pictures alone.
    """
    kinds: list[str] = [*dict.fromkeys(request.wants)]
    media = [kind for kind in kinds if kind not in _WORDS]
    if media and "text" in settings.capabilities.outputs:
        return ["text", *media]
    return media


def voice(params: GenerationParams, settings: GeminiSettings) -> str:
    return str(params.options.get("audio.voice") or settings.voice)


def picture_fields(
    params: GenerationParams,
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns the fields for pictures, with warnings.

    The fields are ``aspect_ratio`` and ``image_size``. A warning states which options
    these fields cannot express.
    """
    fields: dict[str, str] = {}
    warnings: tuple[str, ...] = ()
    size = str(params.options.get("image.size", "auto"))
    pixels = _PIXELS.fullmatch(size)
    if _NAMED_SIZE.fullmatch(size):
        fields["image_size"] = size.upper()
    elif pixels:
        width, height = int(pixels[1]), int(pixels[2])
        divisor = math.gcd(width, height) or 1
        ratio = f"{width // divisor}:{height // divisor}"
        if ratio == "7:3":
            ratio = "21:9"
        if ratio in _RATIOS:
            fields["aspect_ratio"] = ratio
            note = f"image.size={size} is sent as its aspect ratio, {ratio}"
        else:
            note = (
                f"image.size={size} was not sent, because the service does not support "
                f"its aspect ratio {ratio}"
            )
        warnings = (note,)
    elif size != "auto":
        warnings = (
            f"image.size={size} was not sent, because the service does not support it",
        )
    if "image.aspect_ratio" in params.options:
        fields["aspect_ratio"] = str(params.options["image.aspect_ratio"])
    return fields, warnings


def unsent(params: GenerationParams, names: Collection[str]) -> tuple[str, ...]:
    """Returns a warning about parameters for which the interface has no field.

    ``names`` are the parameters with a field.
    """
    unsupported = []
    for name in ("temperature", "top_p", "top_k", "max_tokens", "stop"):
        if name not in names and getattr(params, name) not in (None, ()):
            unsupported.append(name)
    if not unsupported:
        return ()
    return (
        f"the interface has no field for {', '.join(unsupported)}, so this was not "
        "sent",
    )
