from __future__ import annotations

from typing import Any

import pytest

from mmeval.doctor.devices import described

GIB = 2**30
CPU: dict[str, Any] = {"version": "2.13.0+cpu", "cuda": None, "hip": None, "devices": [], "mps": False, "threads": 4}
GPU: dict[str, Any] = {
    **CPU,
    "version": "2.13.0",
    "cuda": "13.0",
    "devices": [["cuda:0", "H200", 138 * GIB, 140 * GIB], ["cuda:1", "H200", 2 * GIB, 140 * GIB]],
}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (CPU, ["torch 2.13.0+cpu, a CPU build", "cpu: torch finds no accelerator, 4 threads"]),
        (
            GPU,
            [
                "torch 2.13.0, CUDA 13.0",
                "cuda:0: H200, 138 GiB of 140 GiB free",
                "cuda:1: H200, 2.0 GiB of 140 GiB free",
            ],
        ),
        ({**CPU, "mps": True}, ["torch 2.13.0+cpu, a CPU build", "mps: the GPU of this machine"]),
    ],
    ids=["cpu", "two GPUs", "mps"],
)
def test_what_torch_can_use_is_told(found: dict[str, Any], said: list[str]) -> None:
    assert [finding.what for finding in described(found)] == said


def test_a_torchvision_that_cannot_be_imported_is_named_with_the_way_out() -> None:
    *_, trap = described({**CPU, "torchvision": "RuntimeError: operator torchvision::nms does not exist"})

    assert trap.status == "broken"
    assert "breaks image processors of transformers too: RuntimeError: operator torchvision::nms" in trap.what
    assert trap.how_to.startswith("pip uninstall torchvision")


def test_a_cpu_build_beside_a_driver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")

    *_, cpu = described(CPU)
    assert "install a CUDA build of torch" in cpu.how_to

    *_, hidden = described({**GPU, "devices": []})
    assert "see CUDA_VISIBLE_DEVICES" in hidden.how_to
