from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.hf.checkpoint import devices
from mmeval.model_backends.hf.checkpoint.devices import check_device, placed_copies, release_memory
from mmeval.model_backends.hf.settings import Settings
from tests.support.tiny_models import tiny_model


def on(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    """On a machine whose usual device this is."""
    monkeypatch.setattr(devices, "_usual_device", lambda: device)


def test_one_copy_runs_here() -> None:
    assert placed_copies(Settings(), 1) == ()


@pytest.mark.parametrize(
    ("device", "usual", "placed"),
    [("", "cpu", ["cpu", "cpu"]), ("", "cuda", ["cuda:0", "cuda:1"]), ("cpu", "cuda", ["cpu", "cpu"])],
)
def test_each_copy_has_a_device_of_its_own_where_there_are_accelerators(
    device: str, usual: str, placed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, usual)
    assert [copy["device"] for copy in placed_copies(Settings(device=device), 2)] == placed


def test_copies_are_single_and_run_the_same_commit() -> None:
    (first, _) = placed_copies(Settings(device="cpu"), 2, "0123abc")
    assert first == {"device": "cpu", "data_parallel_size": 1, "revision": "0123abc"}


@pytest.mark.parametrize(
    ("given", "usual", "said"),
    [
        ({"device": "cuda:1"}, "cuda", "device=cuda:1 is one device, and data_parallel_size=2 needs as many"),
        ({"device_map": "balanced"}, "cuda", "device_map=balanced places one copy, data_parallel_size=2 runs several"),
        ({"device_map": "cpu"}, "cpu", "write device=cpu in the place of device_map=cpu, or leave out data_parallel"),
        ({}, "mps", "this machine has one accelerator"),
    ],
    ids=["one device", "a map", "a map of one device", "a Mac"],
)
def test_what_leaves_no_device_to_each_copy_is_refused(
    given: dict[str, Any], usual: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, usual)
    with pytest.raises(UsageError, match=said):
        placed_copies(Settings(**given), 2)


def test_a_device_that_the_machine_does_not_have_is_refused_before_anything_is_loaded() -> None:
    for plain in ("", "cpu", "cuda", "mps"):
        check_device(plain)
    with pytest.raises(UsageError, match=r"device=cuda:99: (this machine has \d+ of this kind|torch finds no device)"):
        check_device("cuda:99")


def test_more_copies_than_devices_are_refused_with_the_number_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    check_device("cuda:1")
    with pytest.raises(UsageError, match="the last is cuda:1; name one of them, or give data_parallel_size=2 at most"):
        check_device("cuda:2")


def test_memory_that_ran_out_is_let_go_of_the_frames_that_held_it() -> None:
    pytest.importorskip("torch")

    def holds() -> None:
        tensor = [0] * 9
        raise RuntimeError(f"CUDA out of memory with {len(tensor)}")

    try:
        holds()
    except RuntimeError as error:
        caught = error
    assert caught.__traceback__ is not None
    assert caught.__traceback__.tb_next is not None
    release_memory(caught)
    assert caught.__traceback__.tb_next.tb_frame.f_locals == {}


def test_nothing_is_imported_to_give_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    release_memory(RuntimeError("CUDA out of memory"))
    assert "torch" not in sys.modules


def test_the_backend_declares_its_copies_and_says_the_same_of_itself_in_each() -> None:
    folder: Path = tiny_model("llava")
    whole = HFBackend(pretrained=str(folder), device="cpu", data_parallel_size=2)
    copy = HFBackend(**{"pretrained": str(folder), **whole.workers[1]})
    assert (len(whole.workers), copy.workers) == (2, ())
    assert copy.identity == whole.identity
