"""The backend's arguments and a request's options, checked without torch."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_SIDE = 8192
"""The largest side in pixels; a larger one is a mistake, and would use up the machine's
memory."""
MAX_STEPS = 1000


@dataclass(frozen=True)
class Settings:
    """How a pipeline is loaded, and how it draws unless a request says otherwise.

    ``device`` is empty where the best one of the machine is meant. ``drawing`` holds
    arguments of the pipeline's call, as ``drawing`` makes them.
    """

    pretrained: str
    revision: str = "main"
    dtype: str = "auto"
    device: str = ""
    trust_remote_code: bool = False
    drawing: Mapping[str, Any] = field(default_factory=dict)


def drawing(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options such as ``image.size`` as arguments of a pipeline's call.
    Raises ValueError that names the option and what it takes."""
    found: dict[str, Any] = {}
    for name, value in options.items():
        if name not in OPTIONS:
            raise ValueError(
                f"there is no option {name} here; known: {', '.join(OPTIONS)}"
            )
        found |= OPTIONS[name](name, value)
    return found


def _size(name: str, value: object) -> dict[str, Any]:
    match = re.fullmatch(r"([0-9]{1,5})x([0-9]{1,5})", str(value).strip().lower())
    width, height = map(int, match.groups()) if match else (0, 0)
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise ValueError(
            f"{name}={value!r}: write width and height in pixels, as in 1024x768, "
            f"{MAX_SIDE} at most"
        )
    return {"width": width, "height": height}


def _steps(name: str, value: object) -> dict[str, Any]:
    number = _number(name, value)
    if number != int(number) or not 1 <= number <= MAX_STEPS:
        raise ValueError(
            f"{name}={value!r}: must be a whole number from 1 to {MAX_STEPS}"
        )
    return {"num_inference_steps": int(number)}


def _guidance_scale(name: str, value: object) -> dict[str, Any]:
    number = _number(name, value)
    if number < 0:
        raise ValueError(f"{name}={value!r}: must be 0 or above")
    return {"guidance_scale": number}


def _negative_prompt(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, str):
        raise ValueError(f"{name}={value!r}: must be words")
    return {"negative_prompt": value}


def _number(name: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number):
            return number
    raise ValueError(f"{name}={value!r}: must be a number")


OPTIONS: Mapping[str, Callable[[str, object], dict[str, Any]]] = {
    "image.size": _size,
    "image.steps": _steps,
    "image.guidance_scale": _guidance_scale,
    "image.negative_prompt": _negative_prompt,
}
"""The options that a request may have, each with its reader."""
