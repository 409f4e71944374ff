"""Distributes copies of a model to devices, checks devices, and releases memory."""

from __future__ import annotations

import gc
import re
import sys
import traceback
from collections.abc import Mapping
from typing import Any

from mmeval.errors import UsageError
from mmeval.model_backends.hf.settings import HFSettings, accelerated
from mmeval.system import need

_KINDS = frozenset(("cpu", "cuda", "xpu", "npu", "mlu", "musa"))
"""Kinds of devices that can run several copies.

Each copy has its own device, but all copies can share the CPU.
"""
_NUMBERED = re.compile(r"(cuda|xpu|npu|mlu|musa):([0-9]+)")
"""A numbered device in torch's notation."""


def placed_copies(
    settings: HFSettings, count: int, commit: str = ""
) -> tuple[Mapping[str, Any], ...]:
    """Returns the arguments of ``count`` copies of a model, each on its own device.

    All copies of a hub model have the same ``commit``. For a single copy, which runs in
    this process, the result is empty.

    Raises UsageError if the arguments do not allow one device for each copy.
    """
    if count == 1:
        return ()
    size_argument = f"data_parallel_size={count}"
    if not settings.device and settings.device_map != "auto":
        map_argument = f"device_map={settings.device_map}"
        kind = settings.device_map.partition(":")[0]
        advice = f"leave out {map_argument}"
        if kind in _KINDS:
            advice = f"write device={kind} instead of {map_argument}"
        raise UsageError(
            f"{map_argument} is for one copy, but {size_argument} runs several; "
            f"{advice}, or leave out {size_argument}"
        )
    kind = settings.device or _usual_device()
    if _NUMBERED.fullmatch(kind):
        device_kind = kind.partition(":")[0]
        raise UsageError(
            f"device={kind} is one device, but {size_argument} needs a device for each "
            f"copy; write device={device_kind}, or leave out one of the arguments"
        )
    if kind == "mps":
        raise UsageError(
            f"{size_argument}: this machine has only one accelerator; leave out "
            "data_parallel_size, or set device=cpu"
        )
    copies = []
    for number in range(count):
        device = kind if kind == "cpu" else f"{kind}:{number}"
        copy: dict[str, Any] = {"device": device, "data_parallel_size": 1}
        if commit:
            copy["revision"] = commit
        copies.append(copy)
    return tuple(copies)


def _usual_device() -> str:
    if not accelerated(""):
        return "cpu"
    return "mps" if sys.platform == "darwin" else "cuda"


def check_device(device: str) -> None:
    """Raises UsageError for a device that this machine does not have."""
    match = _NUMBERED.fullmatch(device)
    if match is None:
        return
    kind, number = match[1], int(match[2])
    library = getattr(need("torch", "hf"), kind, None)
    count = library.device_count() if library is not None else 0
    if number < count:
        return
    if not count:
        raise UsageError(
            f"device={device}: torch finds no {kind} device on this machine; set "
            "device=cpu"
        )
    last = f"{kind}:{count - 1}"
    raise UsageError(
        f"device={device}: this machine has {count} {kind} devices, the last is "
        f"{last}; name one of them, or set data_parallel_size to at most {count}"
    )


def release_memory(error: BaseException) -> None:
    """Releases the memory of an operation that ran out of memory.

    The error's stack frames keep tensors alive, and the library caches freed memory.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return
    traceback.clear_frames(error.__traceback__)
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
