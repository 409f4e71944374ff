import sys
from typing import Any

import pytest
import torch

from mmeval.errors import UsageError
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.hf.checkpoint import devices
from mmeval.model_backends.hf.checkpoint.devices import (
    check_device,
    placed_copies,
    release_memory,
)
from mmeval.model_backends.hf.settings import HFSettings
from tests.support.models import tiny_model


@pytest.mark.parametrize(
    ("device", "usual", "placed"),
    [
        ("", "cpu", ["cpu", "cpu"]),
        ("", "cuda", ["cuda:0", "cuda:1"]),
        ("cpu", "cuda", ["cpu", "cpu"]),
    ],
)
def test_each_copy_has_its_device(
    device: str, usual: str, placed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_usual_device", lambda: usual)
    assert placed_copies(HFSettings(device=device), 1) == ()
    assert [
        dict(copy) for copy in placed_copies(HFSettings(device=device), 2, "0123abc")
    ] == [
        {"device": one, "data_parallel_size": 1, "revision": "0123abc"}
        for one in placed
    ]


@pytest.mark.parametrize(
    ("given", "usual", "word"),
    [
        ({"device": "cuda:1"}, "cuda", "device=cuda:1 "),
        ({"device_map": "balanced"}, "cuda", "device_map=balanced "),
        ({"device_map": "cpu"}, "cpu", "device=cpu"),
        ({}, "mps", "accelerator"),
    ],
    ids=["one device", "a map", "a map of one device", "a Mac"],
)
def test_too_few_devices(
    given: dict[str, Any], usual: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_usual_device", lambda: usual)
    with pytest.raises(UsageError, match=word):
        placed_copies(HFSettings(**given), 2)


def test_a_device_that_is_not_there_is_refused_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for plain in ("", "cpu", "cuda", "mps"):
        check_device(plain)
    with pytest.raises(UsageError, match="device=cuda:99: "):
        check_device("cuda:99")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    check_device("cuda:1")
    with pytest.raises(UsageError, match=r"cuda:1; .* data_parallel_size to at most 2"):
        check_device("cuda:2")


def test_memory_that_ran_out_is_released_from_the_frames_that_held_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def holds() -> None:
        tensor = [0] * 9
        raise RuntimeError(f"CUDA out of memory with {len(tensor)}")

    with pytest.raises(RuntimeError) as caught:
        holds()
    frames = [entry.frame for entry in caught.traceback]
    release_memory(caught.value)
    assert frames[-1].raw.f_locals == {}
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    release_memory(RuntimeError("CUDA out of memory"))
    assert "torch" not in sys.modules


def test_the_backend_declares_its_copies_and_each_has_the_same_identity() -> None:
    folder = str(tiny_model("llava"))
    whole = HFBackend(pretrained=folder, device="cpu", data_parallel_size=2)
    copy = HFBackend(**{"pretrained": folder, **whole.workers[1]})
    assert len(whole.workers) == 2
    assert copy.workers == ()
    assert copy.identity == whole.identity
