"""Checks the backend's arguments and the options of requests, without torch."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mmeval.model_backends.diffusers.signatures import Signature

MAX_SIDE = 8192
"""Maximum side in pixels. A larger side is a mistake, and would exhaust the memory."""
MAX_STEPS = 1000
MAX_FRAMES = 10_000
MAX_FPS = 240
MAX_SECONDS = 3600


@dataclass(frozen=True)
class DiffusersSettings:
    """The settings for loading a pipeline, and its default arguments.

    An empty ``device`` means the machine's best device. ``arguments`` are those of
    ``checked_arguments``.
    """

    pretrained: str
    revision: str = "main"
    dtype: str = "auto"
    device: str = ""
    trust_remote_code: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)


def checked_arguments(given: Mapping[str, object]) -> dict[str, Any]:
    """Returns those arguments of a pipeline that are given (not None).

    Raises ValueError with an argument's name and its valid values.
    """
    arguments: dict[str, Any] = {}
    for name, value in given.items():
        if value is not None:
            arguments[name] = _ARGUMENTS[name](name, value)
    return arguments


def requested_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Converts options such as ``image.size`` to arguments of a pipeline.

    Raises ValueError with the option's name and its valid values.
    """
    arguments: dict[str, Any] = {}
    for name, value in options.items():
        if name not in OPTIONS:
            raise ValueError(
                f"the option {name} does not exist. Known options: {', '.join(OPTIONS)}"
            )
        names = OPTIONS[name]
        if names == _SIZE:
            arguments |= _size(name, value)
        else:
            arguments[names[0]] = _ARGUMENTS[names[0]](name, value)
    return arguments


def options_of(signature: Signature, gives: str) -> frozenset[str]:
    """Returns the options of requests that a pipeline takes."""
    options = set()
    for option, names in OPTIONS.items():
        modality = option.partition(".")[0]
        taken = [is_taken(name, signature, gives) for name in names]
        if modality == gives and all(taken):
            options.add(option)
    return frozenset(options)


def is_taken(argument: str, signature: Signature, gives: str) -> bool:
    """Returns True if an argument can have an effect on what a pipeline gives."""
    if argument == "fps" and gives == "video":
        # The file of a video has a frame rate, whether or not the pipeline knows of it.
        return True
    is_unused_guidance = (
        argument == "guidance_scale"
        and signature.default(argument) is None
        and "true_cfg_scale" in signature.parameters
    )
    return not is_unused_guidance and bool(parameter_of(argument, signature))


def idle_guidance(arguments: Mapping[str, Any], signature: Signature) -> list[str]:
    """Returns warnings about arguments that have no effect without each other.

    A pipeline with a ``true_cfg_scale`` above 1 runs a second time for the negative
    prompt.
    """
    if "true_cfg_scale" not in signature.parameters:
        return []
    usual_scale = signature.default("true_cfg_scale")
    scale = arguments.get("true_cfg_scale", usual_scale)
    is_on = isinstance(scale, int | float) and scale > 1
    has_prompt = "negative_prompt" in arguments
    if has_prompt and not is_on:
        return ["negative_prompt has no effect without true_cfg_scale above 1"]
    if is_on and not has_prompt and "true_cfg_scale" in arguments:
        return ["true_cfg_scale has no effect without negative_prompt"]
    return []


def parameter_of(argument: str, signature: Signature) -> str:
    """Returns the name of an argument in a pipeline's call, or an empty string."""
    for name in (argument, *_OTHER_NAMES.get(argument, ())):
        if name in signature.parameters:
            return name
    return ""


def _size(name: str, value: object) -> dict[str, Any]:
    match = re.fullmatch(r"([0-9]{1,5})x([0-9]{1,5})", str(value).strip().lower())
    width, height = map(int, match.groups()) if match else (0, 0)
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise ValueError(
            f"{name}={value!r} must be width and height in pixels, such as 1024x768, "
            f"and at most {MAX_SIDE}"
        )
    return {"width": width, "height": height}


def _whole(most: int) -> Callable[[str, object], int]:
    def checked(name: str, value: object) -> int:
        number = _number(name, value)
        if number != int(number) or not 1 <= number <= most:
            raise ValueError(
                f"{name}={value!r} must be a whole number from 1 to {most}"
            )
        return int(number)

    return checked


def _above_zero(most: float) -> Callable[[str, object], float]:
    def checked(name: str, value: object) -> float:
        number = _number(name, value)
        if not 0 < number <= most:
            raise ValueError(f"{name}={value!r} must be above 0 and at most {most}")
        return number

    return checked


def _guidance_scale(name: str, value: object) -> float:
    number = _number(name, value)
    if number < 0:
        raise ValueError(f"{name}={value!r} must be at least 0")
    return number


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}={value!r} must be a string")
    return value


def _number(name: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number):
            return number
    raise ValueError(f"{name}={value!r} must be a number")


_ARGUMENTS: Mapping[str, Callable[[str, object], Any]] = {
    "num_inference_steps": _whole(MAX_STEPS),
    "guidance_scale": _guidance_scale,
    "true_cfg_scale": _guidance_scale,
    "negative_prompt": _text,
    "height": _whole(MAX_SIDE),
    "width": _whole(MAX_SIDE),
    "num_frames": _whole(MAX_FRAMES),
    "fps": _whole(MAX_FPS),
    "strength": _above_zero(1),
    "seconds": _above_zero(MAX_SECONDS),
}
"""The arguments of pipelines, each with the function that checks it."""

_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "num_frames": ("video_length", "frames"),
    "fps": ("frame_rate", "target_fps"),
    "seconds": (
        "audio_end_in_s",
        "audio_length_in_s",
        "audio_duration",
        "audio_duration_s",
        "duration",
    ),
}
"""Arguments that some pipelines call by other names."""

_SIZE = ("width", "height")
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "image.size": _SIZE,
    "image.steps": ("num_inference_steps",),
    "image.guidance_scale": ("guidance_scale",),
    "image.true_cfg_scale": ("true_cfg_scale",),
    "image.negative_prompt": ("negative_prompt",),
    "image.strength": ("strength",),
    "video.size": _SIZE,
    "video.steps": ("num_inference_steps",),
    "video.guidance_scale": ("guidance_scale",),
    "video.true_cfg_scale": ("true_cfg_scale",),
    "video.negative_prompt": ("negative_prompt",),
    "video.frames": ("num_frames",),
    "video.fps": ("fps",),
    "audio.seconds": ("seconds",),
    "audio.steps": ("num_inference_steps",),
    "audio.guidance_scale": ("guidance_scale",),
    "audio.negative_prompt": ("negative_prompt",),
}
"""The options of a request, each with the arguments that it sets."""
