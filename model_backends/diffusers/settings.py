"""Checks the backend's arguments and the options of requests, without torch."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_SIDE = 8192
"""Maximum side in pixels. A larger side is a mistake, and would exhaust the memory."""
MAX_STEPS = 1000


@dataclass(frozen=True)
class DiffusersSettings:
    """The settings for loading a pipeline, and its default arguments.

    An empty ``device`` means the machine's best device. ``drawing`` contains arguments
    of the pipeline's call, as returned by the function ``drawing``.
    """

    pretrained: str
    revision: str = "main"
    dtype: str = "auto"
    device: str = ""
    trust_remote_code: bool = False
    drawing: Mapping[str, Any] = field(default_factory=dict)


def drawing(options: Mapping[str, Any]) -> dict[str, Any]:
    """Converts options such as ``image.size`` to arguments of a pipeline's call.

    Raises ValueError with the option's name and its valid values.
    """
    arguments: dict[str, Any] = {}
    for name, value in options.items():
        if name not in OPTIONS:
            raise ValueError(
                f"the option {name} does not exist. Known options: {', '.join(OPTIONS)}"
            )
        arguments |= OPTIONS[name](name, value)
    return arguments


def _size(name: str, value: object) -> dict[str, Any]:
    match = re.fullmatch(r"([0-9]{1,5})x([0-9]{1,5})", str(value).strip().lower())
    width, height = map(int, match.groups()) if match else (0, 0)
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise ValueError(
            f"{name}={value!r} must be width and height in pixels, such as 1024x768, "
            f"and at most {MAX_SIDE}"
        )
    return {"width": width, "height": height}


def _steps(name: str, value: object) -> dict[str, Any]:
    number = _number(name, value)
    if number != int(number) or not 1 <= number <= MAX_STEPS:
        raise ValueError(
            f"{name}={value!r} must be a whole number from 1 to {MAX_STEPS}"
        )
    return {"num_inference_steps": int(number)}


def _guidance_scale(name: str, value: object) -> dict[str, Any]:
    number = _number(name, value)
    if number < 0:
        raise ValueError(f"{name}={value!r} must be at least 0")
    return {"guidance_scale": number}


def _negative_prompt(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, str):
        raise ValueError(f"{name}={value!r} must be a string")
    return {"negative_prompt": value}


def _number(name: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number):
            return number
    raise ValueError(f"{name}={value!r} must be a number")


OPTIONS: Mapping[str, Callable[[str, object], dict[str, Any]]] = {
    "image.size": _size,
    "image.steps": _steps,
    "image.guidance_scale": _guidance_scale,
    "image.negative_prompt": _negative_prompt,
}
"""The options of a request, each with the function that converts it."""
