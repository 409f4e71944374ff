"""Devices: where copies of a model run, and how their memory is released."""

from __future__ import annotations

import gc
import re
import sys
import traceback
from collections.abc import Mapping
from typing import Any

from mmeval.errors import UsageError
from mmeval.model_backends.hf.settings import Settings, accelerated
from mmeval.system import need

_KINDS = frozenset(("cpu", "cuda", "xpu", "npu", "mlu", "musa"))
"""Kinds of devices for several copies: one each, or all of them on the CPU."""
_NUMBERED = re.compile(r"(cuda|xpu|npu|mlu|musa):([0-9]+)")
"""A device in torch's spelling, of a kind that may have several."""


def placed_copies(
    settings: Settings, count: int, commit: str = ""
) -> tuple[Mapping[str, Any], ...]:
    """The arguments of ``count`` copies of a model, each on a device of its own. Of a
    model of the hub all run the same ``commit``. Empty for one copy, which runs in this
    process.

    Raises UsageError where the arguments leave no device for each.
    """
    if count == 1:
        return ()
    many = f"data_parallel_size={count}"
    if not settings.device and settings.device_map != "auto":
        placed = f"device_map={settings.device_map}"
        kind = settings.device_map.partition(":")[0]
        instead = f"leave {placed} out"
        if kind in _KINDS:
            instead = f"write device={kind} in the place of {placed}"
        raise UsageError(
            f"{placed} places one copy, {many} runs several; {instead}, or leave out "
            f"{many}"
        )
    kind = settings.device or _usual_device()
    if _NUMBERED.fullmatch(kind):
        one = kind.partition(":")[0]
        raise UsageError(
            f"device={kind} is one device, and {many} needs as many; write "
            f"device={one}, or leave one out"
        )
    if kind == "mps":
        raise UsageError(
            f"{many}: this machine has one accelerator; leave it out, or give "
            "device=cpu"
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
    named = _NUMBERED.fullmatch(device)
    if named is None:
        return
    kind, number = named[1], int(named[2])
    library = getattr(need("torch", "hf"), kind, None)
    there = library.device_count() if library is not None else 0
    if number < there:
        return
    if not there:
        raise UsageError(
            f"device={device}: torch finds no device of the kind {kind} on this "
            "machine; give device=cpu"
        )
    last = f"{kind}:{there - 1}"
    raise UsageError(
        f"device={device}: this machine has {there} of this kind, the last is {last}; "
        "name one of them, or give "
        f"data_parallel_size={there} at most"
    )


def release_memory(error: BaseException) -> None:
    """Release the memory of an operation that ran out of it. The error's stack frames
    hold tensors, and the library keeps freed memory for later."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    traceback.clear_frames(error.__traceback__)
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
