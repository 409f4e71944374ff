"""The arguments of the backend, checked before anything is loaded."""

from __future__ import annotations

import contextlib
import importlib.metadata
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmeval.errors import UnknownNameError

DEFAULT_MODEL = "deepseek-community/Janus-Pro-1B"
"""The model of a bare ``--model hf``: open (MIT), four gigabytes; it reads words and
pictures, and writes or draws in a call, so that ``--protocol text_then_media`` gives
both in one answer."""

DTYPES = ("auto", "float32", "bfloat16", "float16")
DEVICES = ("cpu", "cuda", "mps", "xpu", "hpu", "npu", "xla", "mlu", "musa")
"""The kinds of devices that a model can run on."""
_DEVICE = re.compile(r"([a-z]+)(:[0-9]+)?")
_SHORT = {
    "fp32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "float": "float32",
}


@dataclass(frozen=True)
class Settings:
    """How a model is loaded and asked. ``device`` is empty where ``device_map`` places
    the model; ``max_length`` (in tokens, of prompt and answer together) is 0 where the
    model's own context decides. ``chat_template`` is the text of one that takes the
    place of the model's own."""

    pretrained: str = DEFAULT_MODEL
    revision: str = "main"
    adapter: str = "auto"
    dtype: str = "auto"
    device: str = ""
    device_map: str = "auto"
    attn_implementation: str = ""
    trust_remote_code: bool = False
    deterministic: bool = False
    max_length: int = 0
    inputs: str = ""
    outputs: str = ""
    convert: tuple[str, ...] = ()
    chat_template: str = ""
    chat_template_args: Mapping[str, Any] = field(default_factory=dict)


def checked_dtype(given: str) -> str:
    """The full name of a dtype. Raises UnknownNameError with near names for others."""
    name = _SHORT.get(given, given.removeprefix("torch."))
    if name not in DTYPES:
        raise UnknownNameError("dtype", given, DTYPES, f"Known: {', '.join(DTYPES)}.")
    return name


def checked_device(given: str) -> str:
    """A device in torch's spelling, or empty. Raises UnknownNameError with near
    names."""
    named = _DEVICE.fullmatch(given)
    if given and (named is None or named[1] not in DEVICES):
        kind = given.partition(":")[0]
        hint = (
            f"Known: {', '.join(DEVICES)}, with a number where there are several "
            "(cuda:1)."
        )
        raise UnknownNameError(
            "device", given if kind in DEVICES else kind, DEVICES, hint
        )
    return given


def versions(*packages: str) -> dict[str, str]:
    """The versions of packages, if installed. Imports none of them."""
    found: dict[str, str] = {}
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def accelerated(device: str) -> bool:
    """Whether the model will probably not run on the CPU; decided without torch."""
    if device:
        return not device.startswith("cpu")
    drivers = ("/proc/driver/nvidia", "/dev/kfd")
    return sys.platform == "darwin" or any(Path(driver).exists() for driver in drivers)
