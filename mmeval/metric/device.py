"""The device of the models of metrics: ``--metric_device``."""

from __future__ import annotations

import importlib.util
import os
import re
from functools import cache

from mmeval.errors import MissingError

AUTO = "auto"
VARIABLE = "MMEVAL_METRIC_DEVICE"
_DEVICE = re.compile(r"cpu|mps|(cuda|xpu)(:[0-9]+)?")

_asked: str | None = None
_used = ""
"""The last result of ``metric_device`` in this process."""


def device_fault(text: str) -> str:
    """What a text must be to name a device; empty when it names one."""
    if text == AUTO or _DEVICE.fullmatch(text):
        return ""
    return "auto, cpu, cuda, cuda:1 (any number) or mps"


def use_device(asked: str) -> None:
    """Have this process's metrics use a device, before that of the environment."""
    global _asked  # noqa: PLW0603  one process, one choice
    _asked = asked


def asked_device() -> str:
    """The device as the user wrote it; ``auto`` unless set."""
    return _asked or os.environ.get(VARIABLE, "").strip() or AUTO


def metric_device() -> str:
    """The device for the models of metrics: ``cpu``, ``cuda``, ``cuda:1``, ``mps``.
    ``auto`` is CUDA where there is one, else the processor. Raises MissingError for a
    device that is not here."""
    global _used  # noqa: PLW0603  one process, one device
    asked = asked_device()
    if asked != AUTO:
        require_device(asked)
    _used = _usual() if asked == AUTO else asked
    if _used.startswith("cuda"):
        import torch

        # CUDA's convolutions round float32 to ten bits by default, which moves a voice
        # by 0.0003 of its length
        torch.backends.cudnn.allow_tf32 = False
    return _used


def used_device() -> str:
    """The device that metrics of this process use; empty where none has used one."""
    return _used


@cache
def _usual() -> str:
    if importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


@cache
def require_device(device: str) -> None:
    """Raises MissingError where this machine lacks a device."""
    if fault := device_fault(device):
        raise MissingError(f"--metric_device {device}: it must be {fault}")
    kind, _, number = device.partition(":")
    if kind in ("cpu", AUTO):
        return
    there = _count(kind)
    if int(number or 0) >= there:
        number_of = str(there) if there else "no device"
        raise MissingError(
            f"--metric_device {device}: torch finds {number_of} of the kind {kind} on "
            "this machine; give auto or cpu"
        )


def _count(kind: str) -> int:
    """How many devices of a kind torch finds."""
    if importlib.util.find_spec("torch") is None:
        return 0
    import torch

    if kind == "mps":
        return int(torch.backends.mps.is_available())
    library = getattr(torch, kind, None)
    if library is None or not library.is_available():
        return 0
    return int(library.device_count())
