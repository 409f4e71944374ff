from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from mmeval.errors import MissingDataError, MissingError, MmevalError, UsageError
from mmeval.model_backends.hf.checkpoint import loading as loading_module
from mmeval.model_backends.hf.checkpoint.loading import load_processor, load_weights, loading
from tests.support.local_models import copied, files_of, rewritten, settings_for


def weights_of(folder: Path, **arguments: object) -> object:
    return load_weights(files_of(folder), settings_for(folder, **arguments))


def processor_of(folder: Path, **arguments: object) -> object:
    return load_processor(files_of(folder), settings_for(folder, **arguments))


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def without_half(file: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(file)
    save_file({name: tensors[name] for name in sorted(tensors)[::2]}, file, {"format": "pt"})


def test_weights_are_ready_to_answer(tmp_path: Path) -> None:
    import torch

    model = load_weights(files_of(copied("llava", tmp_path)), settings_for(tmp_path, dtype="bfloat16", device="cpu"))
    assert (model.training, model.dtype, type(model).__name__) == (
        False,
        torch.bfloat16,
        "LlavaForConditionalGeneration",
    )


def test_weights_that_are_not_there_are_missed(tmp_path: Path) -> None:
    folder = copied("llm", tmp_path)
    (folder / "model.safetensors").unlink()
    with pytest.raises(MissingDataError, match=r"llm: its weights cannot be loaded .*; fetch the model again"):
        weights_of(folder)


def test_weights_that_are_cut_short_are_not_loaded(tmp_path: Path) -> None:
    folder = copied("llm", tmp_path)
    cut_short(folder / "model.safetensors")
    with pytest.raises(MissingDataError, match=r"fetch the model again: .*model\.safetensors is damaged or cut short"):
        weights_of(folder)


def test_weights_of_which_some_lack_are_not_filled_with_random_numbers(tmp_path: Path) -> None:
    folder = copied("llm", tmp_path)
    without_half(folder / "model.safetensors")
    with pytest.raises(MissingDataError, match=r"\d+ of its weights are not in its files \(model\.layers"):
        weights_of(folder)


def test_weights_of_another_size_are_refused(tmp_path: Path) -> None:
    folder = copied("llm", tmp_path)
    rewritten(folder / "config.json", intermediate_size=48)
    with pytest.raises(MissingDataError, match=r"weights have another shape .* \(model\.layers.*\[32, 64\], not"):
        weights_of(folder)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "of_tomorrow"}, "does not know the type 'of_tomorrow': upgrade it"),
        ({"model_type": "of_tomorrow", "auto_map": {"AutoConfig": "own.Own"}}, "trust_remote_code=true"),
    ],
    ids=["unknown", "with code of its own"],
)
def test_a_model_that_the_library_does_not_know_is_said_to_be_so(
    tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    folder = copied("llm", tmp_path)
    rewritten(folder / "config.json", **changes)
    (folder / "own.py").write_text("raise SystemExit('this code was run')")
    with pytest.raises(UsageError, match=words):
        weights_of(folder)


def test_a_device_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no device 'cuda:7': name another"):
        weights_of(copied("llm", tmp_path), device="cuda:7")


def test_the_same_digits_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    try:
        weights_of(copied("llm", tmp_path), deterministic=True)
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_processor_pads_on_the_left_with_a_token_that_it_has(tmp_path: Path) -> None:
    folder = copied("llm", tmp_path)
    rewritten(folder / "tokenizer_config.json", padding_side="right", pad_token=None)
    tokenizer = load_processor(files_of(folder), settings_for(folder))
    assert (tokenizer.padding_side, tokenizer.pad_token) == ("left", tokenizer.eos_token)


@pytest.mark.parametrize("file", ["tokenizer.json", "processor_config.json"])
def test_a_processor_that_cannot_be_read_is_one_message(tmp_path: Path, file: str) -> None:
    folder = copied("llava", tmp_path)
    cut_short(folder / file)
    with pytest.raises(MmevalError, match="llava: its processor cannot be loaded"):
        processor_of(folder)


def test_a_folder_without_tokenizer_is_no_chat_model(tmp_path: Path) -> None:
    folder = copied("llm", tmp_path)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(MmevalError, match="llm: its processor cannot be loaded"):
        processor_of(folder)


def test_a_torchvision_that_is_broken_stops_before_it_breaks_every_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torchvision.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torchvision", raising=False)
    importlib.invalidate_caches()
    with pytest.raises(UsageError, match=r"torchvision is installed but cannot be imported.*uninstall it"):
        processor_of(copied("llava", tmp_path))


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (MemoryError(), UsageError, "memory does not suffice"),
        (RuntimeError("CUDA out of memory. Tried"), UsageError, "dtype=bfloat16"),
        (ImportError("needs flash_attn"), MissingError, r"needs flash_attn\); install the package"),
        (OSError("it has no file named x"), MissingDataError, "fetch the model again"),
        (ValueError("strange"), UsageError, "look at the model's files"),
    ],
    ids=repr,
)
def test_whatever_fails_is_one_message_with_a_way_out(
    tmp_path: Path, error: Exception, kind: type[MmevalError], words: str
) -> None:
    with (
        pytest.raises(kind, match=words) as caught,
        loading(files_of(tmp_path / "mine"), "its weights", settings_for(tmp_path)),
    ):
        raise error
    assert str(caught.value).startswith("mine: its weights cannot be loaded (")


def test_bars_of_the_library_are_hidden_and_come_back() -> None:
    from transformers.utils import logging as library

    library.enable_progress_bar()
    with loading_module.quietly():
        assert not library.is_progress_bar_enabled()
    assert library.is_progress_bar_enabled()
