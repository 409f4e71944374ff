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

_requested: str | None = None
_used = ""
"""The last result of ``metric_device`` in this process, or an empty string before the
first call."""


def device_fault(text: str) -> str:
    """Returns the valid names of a device.

    The string is empty if ``text`` is one of them.
    """
    if text == AUTO or _DEVICE.fullmatch(text):
        return ""
    return "auto, cpu, cuda, cuda:1 (any number) or mps"


def use_device(device: str) -> None:
    """Sets the device for the metrics of this process. It overrides the environment."""
    global _requested  # noqa: PLW0603  one process, one choice
    _requested = device


def asked_device() -> str:
    """Returns the device as the user specified it, by default ``auto``."""
    return _requested or os.environ.get(VARIABLE, "").strip() or AUTO


def metric_device() -> str:
    """Returns the device for the models of metrics, such as ``cpu`` or ``cuda:1``.

    ``auto`` is CUDA if available, else the CPU. Raises MissingError for a device that
    this machine does not have.
    """
    global _used  # noqa: PLW0603  one process, one device
    requested = asked_device()
    if requested != AUTO:
        require_device(requested)
    _used = _usual() if requested == AUTO else requested
    if _used.startswith("cuda"):
        import torch

        # By default, CUDA convolutions round float32 to ten bits, which changes a
        # speaker embedding by 0.0003 of its length.
        torch.backends.cudnn.allow_tf32 = False
    return _used


def used_device() -> str:
    """Returns the device that metrics of this process have used.

    The string is empty if no metric has used a device.
    """
    return _used


@cache
def _usual() -> str:
    if importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


@cache
def require_device(device: str) -> None:
    """Raises MissingError if this machine does not have a device."""
    if fault := device_fault(device):
        raise MissingError(f"--metric_device {device}: it must be {fault}")
    kind, _, number = device.partition(":")
    if kind in ("cpu", AUTO):
        return
    count = _count(kind)
    if int(number or 0) >= count:
        raise MissingError(
            f"--metric_device {device}: this machine does not have the device (torch "
            f"finds {count} devices of the kind {kind}); use auto or cpu"
        )


def _count(kind: str) -> int:
    """Returns how many devices of a kind torch finds."""
    if importlib.util.find_spec("torch") is None:
        return 0
    import torch

    if kind == "mps":
        return int(torch.backends.mps.is_available())
    library = getattr(torch, kind, None)
    if library is None or not library.is_available():
        return 0
    return int(library.device_count())
