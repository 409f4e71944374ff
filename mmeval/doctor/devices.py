"""Check torch and its devices in a separate process.

Importing torch takes seconds, and a broken torchvision could end this process.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from mmeval.doctor.finding import Finding
from mmeval.installation import install_command
from mmeval.wording import size

DEADLINE = 120.0
"""Seconds. Importing torch from a cold disk can take half a minute."""

PROBE = """
import importlib.util, json
import torch
found = {
    "version": torch.__version__,
    "cuda": torch.version.cuda,
    "hip": getattr(torch.version, "hip", None),
}
found["devices"] = [
    [f"cuda:{i}", torch.cuda.get_device_name(i), *torch.cuda.mem_get_info(i)]
    for i in range(torch.cuda.device_count())
]
mps = getattr(torch.backends, "mps", None)
found["mps"] = bool(mps and mps.is_available())
found["threads"] = torch.get_num_threads()
if importlib.util.find_spec("torchvision"):
    try:
        import torchvision
        torchvision.ops.nms
    except Exception as error:  # a torchvision that does not fit torch raises anything
        found["torchvision"] = f"{type(error).__name__}: {error}"
print("\\n" + json.dumps(found))
"""


def unlooked() -> Iterator[Finding]:
    """Check torch without importing it."""
    if importlib.util.find_spec("torch") is None:
        yield Finding(
            "note",
            "torch is not installed: no model can be run on this machine",
            install_command("hf"),
        )
        return
    message = (
        f"torch {version('torch')} is installed; its devices were not checked, which "
        "takes some seconds"
    )
    yield Finding("note", message, "mmeval doctor --devices")


def devices() -> Iterator[Finding]:
    if importlib.util.find_spec("torch") is None:
        yield from unlooked()
        return
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROBE],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        yield Finding(
            "broken",
            f"torch was not imported within {DEADLINE:.0f} s",
            "try: python -c 'import torch'",
        )
        return
    if done.returncode:
        fault = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[
            -1
        ]
        yield Finding(
            "broken",
            f"torch cannot be imported: {fault}",
            "pip install -U --force-reinstall torch",
        )
        return
    yield from described(json.loads(done.stdout.strip().splitlines()[-1]))


def described(found: dict[str, Any]) -> Iterator[Finding]:
    """The result of the probe as findings."""
    kind = (
        f"CUDA {found['cuda']}"
        if found["cuda"]
        else f"ROCm {found['hip']}"
        if found["hip"]
        else "a CPU build"
    )
    yield Finding("ok", f"torch {found['version']}, {kind}")
    for name, device, free, total in found["devices"]:
        yield Finding("ok", f"{name}: {device}, {size(free)} of {size(total)} free")
    if found["mps"]:
        yield Finding("ok", "mps: the GPU of this machine")
    if not found["devices"] and not found["mps"]:
        yield Finding(
            "note",
            f"cpu: torch finds no accelerator, {found['threads']} threads",
            _why_no_gpu(found),
        )
    if "torchvision" in found:
        yield Finding(
            "broken",
            "torchvision is installed and cannot be imported, which breaks image "
            "processors of transformers too: "
            f"{found['torchvision']}",
            "pip uninstall torchvision (mmeval needs it nowhere), or install the "
            "build that matches torch",
        )


def _why_no_gpu(found: dict[str, Any]) -> str:
    if shutil.which("nvidia-smi") is None:
        return ""
    if not found["cuda"]:
        return (
            "this torch is a CPU build and the machine has an NVIDIA driver: install "
            "a CUDA build of torch"
        )
    return (
        "the machine has an NVIDIA driver: compare its version (nvidia-smi) with "
        "torch's CUDA, see CUDA_VISIBLE_DEVICES"
    )
