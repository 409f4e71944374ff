import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from mmeval.errors import MissingDataError, UsageError
from mmeval.media import Media, decode
from mmeval.model_backends.diffusers.inputs import Inputs
from mmeval.model_backends.diffusers.kinds import kind_of
from mmeval.model_backends.diffusers.networks import networks
from mmeval.model_backends.diffusers.pipeline import (
    Pipeline,
    Prompt,
    other_duration,
    saved_dtype,
    sound_rate,
)
from mmeval.model_backends.diffusers.settings import DiffusersSettings
from mmeval.model_backends.diffusers.signatures import Signature, signature_of
from tests.support.models import tiny_model

CLASS = "StableDiffusionPipeline"


def loaded(folder: Path, class_name: str = CLASS, **settings: Any) -> Pipeline:
    signature = signature_of(class_name, None, "here")
    return Pipeline(
        folder,
        DiffusersSettings(str(folder), **settings),
        signature,
        kind_of(signature, "here"),
    )


def changed_weights(folder: Path, part: str, change: Callable[[str, Any], Any]) -> Path:
    """A copy of the tiny pipeline, in which each tensor of a part is what ``change``
    makes of it: left out for None, as it is for an ellipsis."""
    shutil.copytree(tiny_model("sd"), folder, dirs_exist_ok=True)
    (file,) = (folder / part).glob("*.safetensors")
    made = {
        name: (tensor, change(name, tensor)) for name, tensor in load_file(file).items()
    }
    kept = {
        name: was if now is ... else now
        for name, (was, now) in made.items()
        if now is not None
    }
    assert any(now is not ... for _, now in made.values())
    save_file(kept, file, {"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def pipeline() -> Iterator[Pipeline]:
    torch.set_num_threads(1)
    yield loaded(tiny_model("sd"))


def drawn(pipeline: Pipeline, **arguments: Any) -> Media:
    medium = pipeline.make(Inputs("a hare"), 1, arguments).medium
    assert medium is not None
    return medium


@pytest.mark.parametrize(
    ("changes", "size"),
    [
        ({}, (64, 64)),
        ({"width": 32, "height": 48}, (32, 48)),
        ({"num_inference_steps": 3}, (64, 64)),
        ({"negative_prompt": "a dog in the rain"}, (64, 64)),
    ],
    ids=str,
)
def test_a_picture_is_steered_by_its_arguments(
    pipeline: Pipeline, changes: dict[str, Any], size: tuple[int, int]
) -> None:
    usual = {"num_inference_steps": 2, "guidance_scale": 9.0}
    picture = drawn(pipeline, **{**usual, **changes})
    assert decode.image(picture).size == size
    assert (picture == drawn(pipeline, **usual)) == (not changes)


def test_draws_from_the_global_generator_depend_on_the_seed_alone(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not pipeline._has_writer
    monkeypatch.setattr(pipeline, "_has_writer", True)
    whole = type(pipeline._pipe).encode_prompt

    def rewritten(self: Any, prompt: str, *args: Any, **more: Any) -> Any:
        return whole(self, f"{prompt} {torch.rand(1).item()}", *args, **more)

    monkeypatch.setattr(type(pipeline._pipe), "encode_prompt", rewritten)
    torch.manual_seed(5)
    first = drawn(pipeline, num_inference_steps=2)
    after = torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(after, torch.rand(1))
    assert drawn(pipeline, num_inference_steps=2) == first


def test_a_prompt_is_read_with_warnings(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pipeline.read("a hare") == Prompt("a hare")
    assert [
        "162" in one and one.endswith(" 77")
        for one in pipeline.read("hare" * 40).warnings
    ] == [True]
    read = pipeline.read("a sign that says </s> in red")
    assert "</s>" not in read.text
    assert ["</s>" in one for one in read.warnings] == [True]
    bound = Signature(CLASS, defaults={"max_sequence_length": 8})
    monkeypatch.setattr(pipeline, "_signature", bound)
    assert pipeline.read("a hare in the snow").warnings[0].endswith(" 8")


@pytest.mark.parametrize(
    "written",
    [None, b"", b"\x02" + bytes(7) + b"[]", b"\xff" * 8],
    ids=["no files", "empty", "a list", "endless"],
)
def test_files_that_cannot_be_loaded_are_one_message(
    written: bytes | None, tmp_path: Path
) -> None:
    if written is None:
        (tmp_path / "model_index.json").write_text(json.dumps({"_class_name": CLASS}))
    else:
        shutil.copytree(tiny_model("sd"), tmp_path, dirs_exist_ok=True)
        for file in tmp_path.glob("*/*.safetensors"):
            file.write_bytes(written)
    with pytest.raises(MissingDataError, match=f"pretrained={tmp_path}: "):
        loaded(tmp_path)


BIASES = {
    "unet": r"conv_in\.bias",
    "vae": r"decoder\.conv_in\.bias",
    "text_encoder": r"[\w.]*final_layer_norm\.bias",
}


@pytest.mark.parametrize(
    ("change", "noted"),
    [(lambda tensor: None, r"\)\. "), (lambda tensor: tensor[:-1], r": \[\d+\]")],
    ids=["not there", "of another size"],
)
@pytest.mark.parametrize(("part", "bias"), BIASES.items())
def test_an_unfit_network(
    part: str, bias: str, change: Callable[[Any], Any], noted: str, tmp_path: Path
) -> None:
    folder = changed_weights(
        tmp_path,
        part,
        lambda name, tensor: change(tensor) if re.fullmatch(bias, name) else ...,
    )
    with pytest.raises(MissingDataError, match=rf": {part}: 1 of .*{bias}{noted}"):
        loaded(folder)


@pytest.mark.parametrize(
    ("part", "now", "once"),
    [
        ("text_encoder", "^", "text_model."),
        ("vae", r"\.to_q\.", ".query."),
        ("vae", r"\.to_out\.0\.", ".proj_attn."),
    ],
)
def test_weights_under_their_older_names_are_all_there(
    part: str, now: str, once: str, tmp_path: Path
) -> None:
    shutil.copytree(tiny_model("sd"), tmp_path, dirs_exist_ok=True)
    (file,) = (tmp_path / part).glob("*.safetensors")
    named = {
        re.sub(now, once, name): tensor for name, tensor in load_file(file).items()
    }
    save_file(named, file, {"format": "pt"})
    assert any(once in name for name in named)
    assert set(networks(tmp_path, None, "here")) == {"text_encoder", "unet", "vae"}


def test_a_part_that_is_no_network_or_not_there_is_left_to_the_library(
    tmp_path: Path,
) -> None:
    index = {
        "scheduler": ["diffusers", "DDIMScheduler"],
        "unet": ["mine", "Net"],
        "image_encoder": [None, None],
    }
    (tmp_path / "model_index.json").write_text(
        json.dumps({"_class_name": CLASS, "vae": ["diffusers", "VQ"], **index})
    )
    for name in index:
        (tmp_path / name).mkdir()
    assert networks(tmp_path, None, "here") == {}


def test_weights_are_loaded_in_the_dtype_in_which_they_were_saved_or_that_is_named(
    tmp_path: Path,
) -> None:
    assert saved_dtype(tmp_path) == "float32"
    for name, dtype, size in (("vae", torch.float32, 4), ("unet", torch.bfloat16, 400)):
        (tmp_path / name).mkdir()
        save_file(
            {"weight": torch.zeros(size, dtype=dtype)},
            tmp_path / name / "model.safetensors",
        )
    assert saved_dtype(tmp_path) == "bfloat16"
    assert loaded(tiny_model("sd"), dtype="bfloat16")._pipe.unet.dtype == torch.bfloat16
    with pytest.raises(UsageError, match=r"device=gpu \(.* cpu$"):
        loaded(tiny_model("sd"), device="gpu")


def test_code_of_a_pipeline_runs_where_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "diffusers.utils.dynamic_modules_utils.HF_MODULES_CACHE",
        str(tmp_path / "modules"),
    )
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = tmp_path / "mine"
    shutil.copytree(tiny_model("sd"), folder)
    index = json.loads((folder / "model_index.json").read_text())
    (folder / "model_index.json").write_text(
        json.dumps({**index, "_class_name": ["mine", "Mine"]})
    )
    (folder / "mine.py").write_text(
        f"from diffusers import {CLASS}\n\n\nclass Mine({CLASS}):\n    pass\n"
    )
    made = loaded(folder, trust_remote_code=True)
    assert type(made._pipe).__name__ == "Mine"


def test_a_pipeline_that_lacks_a_package_for_its_prompts_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cleaner(_text: str) -> None:
        raise NameError("name 'ftfy' is not defined", name="ftfy")

    module = "diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion"
    monkeypatch.setattr(f"{module}.prompt_clean", cleaner, raising=False)
    with pytest.raises(UsageError, match="pip install ftfy"):
        loaded(tiny_model("sd"))


@pytest.mark.parametrize(
    ("part", "name"),
    [("vocoder", "sampling_rate"), ("vae", "sampling_rate"), ("vae", "sample_rate")],
)
def test_the_sampling_rate_of_sounds_is_read_from_a_network(
    part: str, name: str
) -> None:
    network = SimpleNamespace(config=SimpleNamespace(**{name: 16000}))
    assert sound_rate(SimpleNamespace(**{part: network}), "here") == 16000
    with pytest.raises(UsageError, match=r"here: .* sampling rate"):
        sound_rate(SimpleNamespace(**{part: network.config}), "here")


def test_a_sound_of_another_duration_is_a_warning() -> None:
    samples = torch.zeros(2, 8000)
    assert other_duration(samples, 16000, {"seconds": 0.5}) == []
    assert other_duration(samples, 16000, {}) == []
    (warning,) = other_duration(samples, 16000, {"seconds": 3.0})
    assert "0.5 seconds, not 3" in warning


def test_a_picture_that_is_reduced_is_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    editor = loaded(tiny_model("sd_edit"), "StableDiffusionInstructPix2PixPipeline")
    monkeypatch.setattr(
        "mmeval.model_backends.diffusers.pipeline.DEFAULT_PIXELS", 32 * 32
    )
    shown = Image.new("RGB", (64, 64))
    made = editor.make(Inputs("a hare", (shown,)), 1, {"num_inference_steps": 2})
    assert made.warnings == ("a picture of 64x64 pixels was reduced to 32x32",)
