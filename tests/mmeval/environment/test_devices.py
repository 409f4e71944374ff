import importlib.util
import json
from subprocess import CompletedProcess, TimeoutExpired
from typing import Any

import pytest

from mmeval.environment import devices
from mmeval.environment.devices import described, faults
from mmeval.findings.finding import Finding

GIB = 2**30
CPU: dict[str, Any] = {
    "version": "2.13+cpu",
    "cuda": None,
    "hip": None,
    "devices": [],
    "mps": False,
}
CARDS = [
    ["cuda:0", "H200", 138 * GIB, 140 * GIB],
    ["cuda:1", "H200", 2 * GIB, 140 * GIB],
]
GPU: dict[str, Any] = {**CPU, "version": "2.13", "cuda": "13.0", "devices": CARDS}


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        (CPU, ["torch 2.13+cpu, a CPU build"]),
        (
            GPU,
            [
                "torch 2.13, CUDA 13.0",
                "cuda:0: H200, 138 GiB of 140 GiB free",
                "cuda:1: H200, 2.0 GiB of 140 GiB free",
            ],
        ),
        (
            {**CPU, "mps": True},
            ["torch 2.13+cpu, a CPU build", "mps: the GPU of this machine"],
        ),
        ({**CPU, "hip": "6"}, ["torch 2.13+cpu, ROCm 6"]),
    ],
    ids=["cpu", "two GPUs", "mps", "rocm"],
)
def test_what_torch_can_use_is_described(
    found: dict[str, Any], lines: list[str]
) -> None:
    assert list(described(found)) == lines


def test_a_torchvision_that_breaks_others_has_the_command_that_removes_it() -> None:
    (found,) = faults({**GPU, "torchvision": "E: no nms"})
    assert (found.kind, found.severity) == ("package", "error")
    assert found.remedy == "pip uninstall torchvision"


@pytest.mark.parametrize(
    ("driver", "probe", "words"),
    [
        (None, CPU, []),
        ("/usr/bin/nvidia-smi", GPU, []),
        ("/usr/bin/nvidia-smi", CPU, ["a CPU build"]),
        ("/usr/bin/nvidia-smi", {**GPU, "devices": []}, ["finds no device"]),
    ],
)
def test_a_driver_that_torch_does_not_use_is_a_hint(
    monkeypatch: pytest.MonkeyPatch,
    driver: str | None,
    probe: dict[str, Any],
    words: list[str],
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: driver)
    found = list(faults(probe))
    assert [one.severity for one in found] == ["note"] * len(words)
    assert all(word in one.cause for word, one in zip(words, found, strict=True))


def test_devices_are_read_from_the_last_line_of_their_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def probed(
        code: int, out: str = "", err: str = ""
    ) -> tuple[list[str], list[Finding]]:
        monkeypatch.setattr(
            "subprocess.run", lambda *_, **__: CompletedProcess((), code, out, err)
        )
        return devices.devices()

    def hangs(*_: Any, **more: Any) -> None:
        raise TimeoutExpired("torch", more["timeout"])

    assert probed(0, f"noise\n{json.dumps(CPU)}\n") == (list(described(CPU)), [])
    _, (torn,) = probed(1, err="Traceback\nImportError: libcudart\n")
    _, (silent,) = probed(3)
    assert (torn.cause, silent.cause) == ("ImportError: libcudart", "exit code 3")
    monkeypatch.setattr("subprocess.run", hangs)
    _, (slow,) = devices.devices()
    assert [one.severity for one in (torn, silent, slow)] == ["error"] * 3


def test_a_torch_that_is_not_installed_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert devices.devices() == ([], [])
