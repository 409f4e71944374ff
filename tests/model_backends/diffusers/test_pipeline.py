from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingDataError, UsageError
from mmeval.model_backends.diffusers.pipeline import Pipeline, Prompt, saved_dtype
from mmeval.model_backends.diffusers.settings import Settings
from tests.support.tiny_models import tiny_model

CLASS = "StableDiffusionPipeline"


def loaded(folder: Path, **settings: Any) -> Pipeline:
    return Pipeline(folder, Settings(str(folder), **settings), CLASS, own_code=False)


@pytest.fixture(scope="module")
def pipeline() -> Iterator[Pipeline]:
    import torch

    torch.set_num_threads(1)
    yield loaded(tiny_model("sd"))


def test_a_picture_is_an_array_of_numbers_from_black_to_white(pipeline: Pipeline) -> None:
    (drawn,) = pipeline.draw([Prompt("a hare")], [1], {"num_inference_steps": 2})

    assert drawn.pixels.shape == (64, 64, 3)
    assert drawn.pixels.min() >= 0
    assert drawn.pixels.max() <= 1
    assert not drawn.blanked


def test_size_and_steps_reach_the_pipeline(pipeline: Pipeline) -> None:
    one, two = (
        next(pipeline.draw([Prompt("a hare")], [1], {"width": 32, "height": 48, "num_inference_steps": steps}))
        for steps in (1, 2)
    )

    assert one.pixels.shape == (48, 32, 3)
    assert (one.pixels != two.pixels).any()


def test_a_negative_prompt_changes_the_picture(pipeline: Pipeline) -> None:
    plain, other = (
        next(pipeline.draw([Prompt("a hare")], [1], {"num_inference_steps": 1, "guidance_scale": 9.0, **more}))
        for more in ({}, {"negative_prompt": "a dog in the rain"})
    )

    assert (plain.pixels != other.pixels).any()


def test_a_prompt_that_fits_is_read_as_it_is(pipeline: Pipeline) -> None:
    assert pipeline.read("a hare") == Prompt("a hare")


def test_a_prompt_that_is_too_long_is_said_to_be_cut(pipeline: Pipeline) -> None:
    read = pipeline.read("hare" * 40)

    assert read.warnings == ("the prompt has 162 tokens and the pipeline's tokenizer reads the first 77",)


def test_a_control_token_in_the_words_stays_words(pipeline: Pipeline) -> None:
    read = pipeline.read("a sign that says </s> in red")

    assert "</s>" not in read.text
    assert read.warnings == ("control tokens in the text were made plain words: </s>",)


def test_the_bound_of_the_call_counts_too(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect import Parameter

    bound = Parameter("max_sequence_length", Parameter.KEYWORD_ONLY, default=8)
    monkeypatch.setitem(pipeline._parameters, "max_sequence_length", bound)

    assert "reads the first 8" in pipeline.read("a hare in the snow").warnings[0]


def test_arguments_that_the_call_does_not_take_are_named(pipeline: Pipeline) -> None:
    assert pipeline.unknown({"width": 1, "true_cfg_scale": 2.0}) == ["true_cfg_scale"]


def test_arguments_of_the_user_that_the_call_does_not_take_end_the_loading() -> None:
    with pytest.raises(UsageError, match=f"a {CLASS} takes no true_cfg_scale; leave it out"):
        loaded(tiny_model("sd"), drawing={"true_cfg_scale": 2.0})


@pytest.mark.parametrize("name", ["DreamPipeline", "models"])
def test_a_class_that_the_library_does_not_know_is_said_to_be_newer(name: str) -> None:
    folder = tiny_model("sd")

    with pytest.raises(UsageError, match=rf"knows no {name}; a newer one may: pip install -U diffusers"):
        Pipeline(folder, Settings(str(folder)), name, own_code=False)


def test_files_that_cannot_be_loaded_are_one_message(tmp_path: Path) -> None:
    (tmp_path / "model_index.json").write_text('{"_class_name": "StableDiffusionPipeline"}')

    with pytest.raises(MissingDataError, match=r"the pipeline cannot be loaded \(.*\); fetch it again"):
        loaded(tmp_path)


@pytest.mark.parametrize("written", [b"", b"\x02" + bytes(7) + b"[]", b"\xff" * 8], ids=["empty", "a list", "endless"])
def test_weights_that_are_none_are_one_message(written: bytes, tmp_path: Path) -> None:
    shutil.copytree(tiny_model("sd"), tmp_path, dirs_exist_ok=True)
    for file in tmp_path.glob("*/*.safetensors"):
        file.write_bytes(written)

    with pytest.raises(MissingDataError, match=r"the pipeline cannot be loaded \(.*\); fetch it again"):
        loaded(tmp_path)


def test_weights_are_loaded_in_the_dtype_in_which_they_were_saved(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    for name, dtype, size in (("vae", torch.float32, 4), ("unet", torch.bfloat16, 400)):
        (tmp_path / name).mkdir()
        save_file({"weight": torch.zeros(size, dtype=dtype)}, tmp_path / name / "model.safetensors")

    assert saved_dtype(tmp_path) == "bfloat16"


def test_a_device_that_is_not_there_is_one_message() -> None:
    with pytest.raises(UsageError, match=r"cannot be put on device=gpu \(.*\); name another device, such as cpu"):
        loaded(tiny_model("sd"), device="gpu")


def test_code_that_comes_with_a_pipeline_runs_where_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("diffusers.utils.dynamic_modules_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = tmp_path / "mine"
    shutil.copytree(tiny_model("sd"), folder)
    index = json.loads((folder / "model_index.json").read_text())
    (folder / "model_index.json").write_text(json.dumps({**index, "_class_name": ["mine", "Mine"]}))
    (folder / "mine.py").write_text(f"from diffusers import {CLASS}\n\n\nclass Mine({CLASS}):\n    pass\n")

    made = Pipeline(folder, Settings(str(folder), trust_remote_code=True), "Mine", own_code=True)

    assert type(made._pipe).__name__ == "Mine"


def test_weights_in_no_safe_format_are_loaded_as_float32(tmp_path: Path) -> None:
    assert saved_dtype(tmp_path) == "float32"


def test_a_dtype_that_is_named_is_used() -> None:
    import torch

    pipeline = loaded(tiny_model("sd"), dtype="bfloat16")

    assert pipeline._pipe.unet.dtype == torch.bfloat16
