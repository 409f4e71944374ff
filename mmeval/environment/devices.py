"""Checks torch and its devices in a separate process.

Importing torch takes seconds, and a broken torchvision could end this process.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from mmeval.findings.finding import Finding, Subject
from mmeval.system.wording import size

DEADLINE = 120.0
"""Seconds until the check is ended. Importing torch can take half a minute."""

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
if importlib.util.find_spec("torchvision"):
    try:
        import torchvision
        torchvision.ops.nms
    except Exception as error:  # a torchvision that does not fit torch raises anything
        found["torchvision"] = f"{type(error).__name__}: {error}"
print("\\n" + json.dumps(found))
"""
TORCH = Subject(name="torch")


def devices() -> tuple[list[str], list[Finding]]:
    """Describes torch and each of its devices in one line, and returns findings.

    Both lists are empty if torch is not installed; a local model reports the missing
    package itself.
    """
    if importlib.util.find_spec("torch") is None:
        return [], []
    try:
        result = subprocess.run(
            [sys.executable, "-c", PROBE],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [], [_broken(f"the import takes more than {DEADLINE:.0f} s")]
    if result.returncode:
        lines = result.stderr.strip().splitlines()
        return [], [_broken(lines[-1] if lines else f"exit code {result.returncode}")]
    # only the last line counts, since libraries may print during their import
    probe = json.loads(result.stdout.strip().splitlines()[-1])
    return list(described(probe)), list(faults(probe))


def _broken(cause: str) -> Finding:
    return Finding(
        "package",
        TORCH,
        cause=cause,
        remedy="pip install -U --force-reinstall torch",
        severity="error",
    )


def described(probe: Mapping[str, Any]) -> Iterator[str]:
    """Yields a line about the build of torch, then a line about each device."""
    build = "a CPU build"
    if probe["cuda"]:
        build = f"CUDA {probe['cuda']}"
    elif probe["hip"]:
        build = f"ROCm {probe['hip']}"
    yield f"torch {probe['version']}, {build}"
    for name, device, free, total in probe["devices"]:
        yield f"{name}: {device}, {size(free)} of {size(total)} free"
    if probe["mps"]:
        yield "mps: the GPU of this machine"


def faults(probe: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields findings about faults that the probe of torch has found."""
    if "torchvision" in probe:
        yield Finding(
            "package",
            Subject(name="torchvision"),
            cause=f"{probe['torchvision']}. This error breaks transformers too",
            remedy="pip uninstall torchvision",
            severity="error",
        )
    has_device = probe["devices"] or probe["mps"]
    if has_device or shutil.which("nvidia-smi") is None:
        return
    cause = "the machine has an NVIDIA driver, but torch finds no device"
    if not probe["cuda"]:
        cause = "torch is a CPU build, but the machine has an NVIDIA driver"
    yield Finding("machine", TORCH, cause=cause, severity="note")
