"""The backend's arguments, checked before anything is loaded."""

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
"""The default model of ``--model hf``: open (MIT), four gigabytes.

It reads text and pictures. In one call it either writes text or draws, so an answer
with both needs ``--protocol text_then_media``.
"""

DTYPES = ("auto", "float32", "bfloat16", "float16")
DEVICES = ("cpu", "cuda", "mps", "xpu", "hpu", "npu", "xla", "mlu", "musa")
"""The supported kinds of devices."""
_DEVICE = re.compile(r"([a-z]+)(:[0-9]+)?")
_DTYPE_ALIASES = {
    "fp32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "float": "float32",
}


@dataclass(frozen=True)
class HFSettings:
    """The settings for loading and running a model.

    ``device`` is empty if ``device_map`` distributes the model. ``max_length`` is the
    maximum number of tokens in prompt and answer together (0: the model's context). For
    models of sounds, it is the maximum in the prompt.
    ``chat_template`` is the text of a template that replaces the model's template.
    """

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


def checked_dtype(value: str) -> str:
    """Returns the full name of a dtype.

    Raises UnknownNameError with similar names for an unknown dtype.
    """
    name = _DTYPE_ALIASES.get(value, value.removeprefix("torch."))
    if name not in DTYPES:
        raise UnknownNameError("dtype", value, DTYPES, f"Known: {', '.join(DTYPES)}.")
    return name


def checked_device(value: str) -> str:
    """Returns a device in torch's notation, or an empty string for an empty value.

    Raises UnknownNameError with similar names for an unknown device.
    """
    match = _DEVICE.fullmatch(value)
    if value and (match is None or match[1] not in DEVICES):
        kind = value.partition(":")[0]
        hint = (
            f"Known: {', '.join(DEVICES)}, with a number if there are several (cuda:1)."
        )
        raise UnknownNameError(
            "device", value if kind in DEVICES else kind, DEVICES, hint
        )
    return value


def versions(*packages: str) -> dict[str, str]:
    """Returns the version of each package that is installed, without importing it."""
    versions: dict[str, str] = {}
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions


def accelerated(device: str) -> bool:
    """Returns True if the model will probably run on an accelerator.

    The function does not import torch.
    """
    if device:
        return not device.startswith("cpu")
    drivers = ("/proc/driver/nvidia", "/dev/kfd")
    return sys.platform == "darwin" or any(Path(driver).exists() for driver in drivers)
