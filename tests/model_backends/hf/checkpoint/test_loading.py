import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from mmeval.errors import MissingDataError, MissingError, MmevalError, UsageError
from mmeval.model_backends.hf.checkpoint import loading as loading_module
from mmeval.model_backends.hf.checkpoint.loading import (
    general_class,
    load_processor,
    load_weights,
    loading,
)
from tests.support.models import copied, files_of, rewritten, settings_for


def weights_of(folder: Path, **arguments: object) -> torch.nn.Module:
    model: torch.nn.Module = load_weights(
        files_of(folder), settings_for(folder, **arguments)
    )
    return model


def cut_short(folder: Path, name: str = "model.safetensors") -> None:
    (folder / name).write_bytes(
        (folder / name).read_bytes()[: (folder / name).stat().st_size // 2]
    )


def without_half(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file(
        {name: tensors[name] for name in sorted(tensors)[::2]},
        folder / "model.safetensors",
        {"format": "pt"},
    )


def test_weights_are_ready_to_answer_with_the_same_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = weights_of(
        copied("llava", tmp_path / "llava"), dtype="bfloat16", device="cpu"
    )
    assert model.training is False
    assert model.dtype == torch.bfloat16
    assert type(model).__name__ == "LlavaForConditionalGeneration"
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    try:
        weights_of(copied("llm", tmp_path), deterministic=True)
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize(
    ("model_type", "class_name"),
    [
        ("llama", "AutoModelForCausalLM"),
        ("llava", "AutoModelForMultimodalLM"),
        ("audioflamingo3", "AutoModelForSeq2SeqLM"),
    ],
)
def test_the_class_is_the_one_that_knows_the_type(
    model_type: str, class_name: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(f'{{"model_type": "{model_type}"}}')
    assert (
        general_class(files_of(tmp_path), settings_for(tmp_path)).__name__ == class_name
    )


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda folder: (folder / "model.safetensors").unlink(), "llm: "),
        (cut_short, r"model\.safetensors .*damaged"),
        (without_half, r"\d+ of .*\(model\.layers"),
        (
            lambda folder: rewritten(folder / "config.json", intermediate_size=48),
            r"\(model\.layers.*\[32, 64\] instead of",
        ),
    ],
    ids=["gone", "cut short", "half of them", "of another size"],
)
def test_missing_weights_are_not_filled_at_random(
    spoil: Callable[[Path], None], word: str, tmp_path: Path
) -> None:
    folder = copied("llm", tmp_path)
    spoil(folder)
    with pytest.raises(MissingDataError, match=word):
        weights_of(folder)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"model_type": "of_tomorrow"}, "'of_tomorrow': "),
        (
            {"model_type": "of_tomorrow", "auto_map": {"AutoConfig": "own.Own"}},
            "trust_remote_code=true",
        ),
        ({"model_type": "clap"}, "no suitable class for the type 'clap'"),
    ],
    ids=["unknown", "own code", "no chat model"],
)
def test_an_unknown_model_is_refused_and_no_code_is_run(
    tmp_path: Path, changes: dict[str, object], word: str
) -> None:
    folder = copied("llm", tmp_path)
    rewritten(folder / "config.json", **changes)
    (folder / "own.py").write_text("raise SystemExit('this code was run')")
    with pytest.raises(UsageError, match=word):
        weights_of(folder)


def test_a_tokenizer_with_code_of_its_own_is_refused_and_run_when_allowed(
    tmp_path: Path,
) -> None:
    folder = copied("llm", tmp_path)
    code = (
        "from transformers import PreTrainedTokenizerFast\nclass "
        "Own(PreTrainedTokenizerFast):\n    pass\n"
    )
    (folder / "own.py").write_text(code)
    own = {"AutoTokenizer": ["own.Own", "own.Own"]}
    rewritten(folder / "tokenizer_config.json", tokenizer_class="Own", auto_map=own)
    with pytest.raises(UsageError, match="trust_remote_code=true"):
        load_processor(files_of(folder), settings_for(folder))
    tokenizer = load_processor(
        files_of(folder), settings_for(folder, trust_remote_code=True)
    )
    assert type(tokenizer).__name__ == "Own"


def test_a_processor_pads_left_and_needs_a_sound_torchvision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied("llm", tmp_path)
    rewritten(folder / "tokenizer_config.json", padding_side="right", pad_token=None)
    tokenizer = load_processor(files_of(folder), settings_for(folder))
    assert tokenizer.padding_side == "left"
    assert tokenizer.pad_token == tokenizer.eos_token
    (tmp_path / "torchvision.py").write_text(
        "raise RuntimeError('operator torchvision::nms does not exist')"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torchvision", raising=False)
    importlib.invalidate_caches()
    folder = copied("llava", tmp_path)
    with pytest.raises(UsageError, match=r"^torchvision .*nms"):
        load_processor(files_of(folder), settings_for(folder))


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("llava", lambda folder: cut_short(folder, "tokenizer.json")),
        ("llm", lambda folder: (folder / "tokenizer.json").unlink()),
    ],
    ids=["tokenizer", "no tokenizer"],
)
def test_an_unreadable_processor_is_one_message(
    name: str, spoil: Callable[[Path], None], tmp_path: Path
) -> None:
    folder = copied(name, tmp_path)
    spoil(folder)
    with pytest.raises(MmevalError, match=f"{name}: .*processor"):
        load_processor(files_of(folder), settings_for(folder))


@pytest.mark.parametrize(
    ("error", "kind", "word"),
    [
        (MemoryError(), UsageError, "memory"),
        (RuntimeError("CUDA out of memory"), UsageError, "dtype=bfloat16"),
        (ImportError("needs flash_attn"), MissingError, r"needs flash_attn\)"),
        (OSError("no file named x"), MissingDataError, "fetch"),
        (
            RuntimeError("PytorchStreamReader failed reading zip archive"),
            MissingDataError,
            "fetch",
        ),
        (
            ValueError("Couldn't instantiate the backend tokenizer from"),
            MissingDataError,
            "fetch",
        ),
        (ValueError("strange"), UsageError, "files"),
    ],
    ids=repr,
)
def test_a_failure_is_one_message(
    tmp_path: Path, error: Exception, kind: type[MmevalError], word: str
) -> None:
    with (
        pytest.raises(kind, match=f"^mine: cannot load its weights .*{word}"),
        loading(files_of(tmp_path / "mine"), "its weights", settings_for(tmp_path)),
    ):
        raise error


@pytest.mark.parametrize("device_map", ["cuda:7", "foo"])
def test_a_place_that_does_not_exist_is_named(device_map: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"no device '{device_map}'"):
        weights_of(copied("llm", tmp_path), device_map=device_map)


def test_bars_of_the_library_are_hidden_and_come_back() -> None:
    from transformers.utils import logging as library

    library.enable_progress_bar()
    with loading_module.quietly():
        assert not library.is_progress_bar_enabled()
    assert library.is_progress_bar_enabled()
