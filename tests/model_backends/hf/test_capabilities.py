from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.errors import UnknownNameError, UsageError
from mmeval.model_backends.hf.capabilities import doubt, modalities, overruled, read_kinds
from mmeval.model_backends.hf.settings import Settings
from tests.support.local_models import files_of

OWN = Capabilities.of(["text", "image"], ["text"], "single")
NEW: dict[str, Any] = {"processor_config.json": {"image_processor": {}, "feature_extractor": {}, "video_processor": {}}}
OLD: dict[str, Any] = {"preprocessor_config.json": {"image_processor_type": "X"}}
OLDEST: dict[str, Any] = {"preprocessor_config.json": {"image_mean": [0.5]}}
VISION: dict[str, Any] = {"vision_config": {}}
VIDEO: dict[str, Any] = {"video_token_id": 7}
AUDIO: dict[str, Any] = {"audio_config": {}}

MODELS: dict[str, tuple[dict[str, Any], dict[str, dict[str, Any]], tuple[str, ...]]] = {
    "text": ({}, {}, ()),
    "pictures": (VISION, {"processor_config.json": {"image_processor": {}}}, ("image",)),
    "all": (VISION | VIDEO | AUDIO, NEW, ("image", "audio", "video")),
    "omni": ({"thinker_config": VISION | AUDIO}, NEW, ("image", "audio", "video")),
    "pictures, old files": (VISION, OLDEST, ("image",)),
    "videos, old files": (VISION | VIDEO, OLD, ("image", "video")),
    "a video token and no processor for it": (
        VISION | VIDEO,
        {"processor_config.json": {"image_processor": {}}},
        ("image",),
    ),
    "pictures without processor": (VISION, {}, ()),
    "a processor of nothing": ({"vision_config": None}, NEW, ()),
}


@pytest.mark.parametrize("case", MODELS)
def test_kinds_are_read_where_model_and_processor_know_them(tmp_path: Path, case: str) -> None:
    config, files, kinds = MODELS[case]
    for name, row in (files | {"config.json": config}).items():
        filled = {key: value if value != {} else {"size": 1} for key, value in row.items()}
        (tmp_path / name).write_text(json.dumps(filled))
    assert read_kinds(files_of(tmp_path)) == kinds


@pytest.mark.parametrize(
    ("declared", "names"),
    [("text", ("text",)), (("image", "text"), ("image", "text")), (["audio"], ("audio",)), (None, ())],
)
def test_a_class_may_declare_a_name_several_or_none(declared: object, names: tuple[str, ...]) -> None:
    assert modalities(declared) == names


def test_a_class_that_says_otherwise_is_doubted() -> None:
    seeing = SimpleNamespace(input_modalities=("image", "text"))
    assert doubt(["image"], seeing) == ""
    assert doubt([], SimpleNamespace(input_modalities="text")) == ""
    assert doubt([], seeing).startswith("its class reads image, its files say text only and decide")


def test_the_user_has_the_last_word_on_inputs() -> None:
    assert {*overruled(OWN, Settings(inputs="text+audio")).inputs} == {"text", "code", "audio"}
    assert overruled(OWN, Settings()) is OWN


def test_outputs_may_be_fewer_and_never_other_kinds() -> None:
    both = Capabilities.of(["text"], ["text", "image"])
    assert {*overruled(both, Settings(outputs="image")).outputs} == {"image"}
    with pytest.raises(UsageError, match="never audio; leave it out"):
        overruled(OWN, Settings(outputs="text+audio"))


@pytest.mark.parametrize("settings", [Settings(inputs="text+imgae"), Settings(outputs="text+imgae")], ids=["in", "out"])
def test_a_kind_that_there_is_not_is_refused_with_a_near_one(settings: Settings) -> None:
    with pytest.raises(UnknownNameError, match=r"kind in (in|out)puts 'imgae'; did you mean \"image\""):
        overruled(OWN, settings)
