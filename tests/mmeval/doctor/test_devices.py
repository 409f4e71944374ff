import importlib.util
import json
from subprocess import CompletedProcess, TimeoutExpired
from typing import Any

import pytest

from mmeval.doctor import devices
from mmeval.doctor.devices import described

GIB = 2**30
CPU: dict[str, Any] = {
    "version": "2.13+cpu",
    "cuda": None,
    "hip": None,
    "devices": [],
    "mps": False,
    "threads": 4,
}
CARDS = [
    ["cuda:0", "H200", 138 * GIB, 140 * GIB],
    ["cuda:1", "H200", 2 * GIB, 140 * GIB],
]
GPU: dict[str, Any] = {**CPU, "version": "2.13", "cuda": "13.0", "devices": CARDS}


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (CPU, [("ok", "2.13+cpu, a CPU"), ("note", "4 threads")]),
        (
            GPU,
            [
                ("ok", "CUDA 13.0"),
                ("ok", "cuda:0: H200, 138 GiB of 140"),
                ("ok", "cuda:1: H200, 2.0 GiB of 140"),
            ],
        ),
        ({**CPU, "mps": True}, [("ok", "a CPU"), ("ok", "mps: ")]),
        (
            {**GPU, "cuda": None, "hip": "6", "devices": CARDS[:1]},
            [("ok", "ROCm 6"), ("ok", "cuda:0: H200, 138")],
        ),
        (
            {**CPU, "torchvision": "E: no nms"},
            [("ok", "a CPU"), ("note", "4 threads"), ("broken", "E: no nms")],
        ),
    ],
    ids=["cpu", "two GPUs", "mps", "rocm", "torchvision"],
)
def test_what_torch_can_use_is_described(
    found: dict[str, Any], shown: list[tuple[str, str]]
) -> None:
    for finding, (status, word) in zip(described(found), shown, strict=True):
        assert (finding.status, word in finding.what) == (status, True)


def test_a_driver_that_torch_does_not_use_has_a_way_to_change_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ways = []
    for path in (None, "/usr/bin/nvidia-smi"):
        monkeypatch.setattr("shutil.which", lambda name, path=path: path)
        ways += [
            list(described(found))[-1].how_to for found in (CPU, {**GPU, "devices": []})
        ]
    assert (ways[:2], "CUDA build" in ways[2], "CUDA_VISIBLE_DEVICES" in ways[3]) == (
        ["", ""],
        True,
        True,
    )


def test_devices_are_read_from_the_last_line_of_their_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def found(code: int, out: str = "", err: str = "") -> list[Any]:
        monkeypatch.setattr(
            "subprocess.run", lambda *_, **__: CompletedProcess((), code, out, err)
        )
        return list(devices.devices())

    def hangs(*_: Any, **more: Any) -> None:
        raise TimeoutExpired("torch", more["timeout"])

    assert found(0, f"noise\n{json.dumps(CPU)}\n") == list(described(CPU))
    (torn,), (silent,) = found(1, err="Traceback\nImportError: libcudart\n"), found(3)
    assert (
        torn.what.endswith("ImportError: libcudart"),
        silent.what.endswith("exit code 3"),
    ) == (True, True)
    monkeypatch.setattr("subprocess.run", hangs)
    assert [one.status for one in (torn, silent, *devices.devices())] == ["broken"] * 3


def test_a_torch_that_is_not_installed_is_a_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (here,) = devices.unlooked()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (absent,), (also,) = devices.unlooked(), devices.devices()
    assert (here.how_to, absent, "[hf]" in absent.how_to) == (
        "mmeval doctor --devices",
        also,
        True,
    )
