import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.errors import UnknownNameError, UsageError
from mmeval.model_backends.hf.capabilities import (
    input_mismatch,
    modalities,
    overridden,
    read_kinds,
)
from mmeval.model_backends.hf.settings import HFSettings
from tests.support.models import files_of

OWN = Capabilities.of(["text", "image"], ["text"], "single")
SEEING: dict[str, Any] = {"processor_config.json": {"image_processor": {}}}
NEW: dict[str, Any] = {
    "processor_config.json": {
        "image_processor": {},
        "feature_extractor": {},
        "video_processor": {},
    }
}
OLDEST: dict[str, Any] = {"preprocessor_config.json": {"image_mean": [0.5]}}
VISION: dict[str, Any] = {"vision_config": {}}
VIDEO: dict[str, Any] = {"video_token_id": 7}
AUDIO: dict[str, Any] = {"audio_config": {}}

MODELS: dict[str, tuple[dict[str, Any], dict[str, dict[str, Any]], tuple[str, ...]]] = {
    "text": ({}, {}, ()),
    "all": (VISION | VIDEO | AUDIO, NEW, ("image", "audio", "video")),
    "omni": ({"thinker_config": VISION | AUDIO}, NEW, ("image", "audio", "video")),
    "videos, old files": (VISION | VIDEO, OLDEST, ("image", "video")),
    "a video token and no processor for it": (VISION | VIDEO, SEEING, ("image",)),
    "pictures without processor": (VISION, {}, ()),
    "a processor of nothing": ({"vision_config": None}, NEW, ()),
}


@pytest.mark.parametrize("case", MODELS)
def test_kinds_are_read_where_model_and_processor_know_them(
    tmp_path: Path, case: str
) -> None:
    config, files, kinds = MODELS[case]
    for name, row in (files | {"config.json": config}).items():
        filled = {
            key: value if value != {} else {"size": 1} for key, value in row.items()
        }
        (tmp_path / name).write_text(json.dumps(filled))
    assert read_kinds(files_of(tmp_path)) == kinds


def test_a_class_may_declare_a_name_several_or_none_and_is_doubted_where_these_are_others() -> (
    None
):
    assert [modalities(declared) for declared in ("text", ["audio"], None)] == [
        ("text",),
        ("audio",),
        (),
    ]
    seeing = SimpleNamespace(input_modalities=("image", "text"))
    assert (
        input_mismatch(["image"], seeing)
        == input_mismatch([], SimpleNamespace(input_modalities="text"))
        == ""
    )
    assert "image" in input_mismatch([], seeing)


def test_the_user_has_the_last_word_on_inputs_and_may_want_fewer_outputs_and_no_others() -> (
    None
):
    assert {*overridden(OWN, HFSettings(inputs="text+audio")).inputs} == {
        "text",
        "code",
        "audio",
    }
    assert overridden(OWN, HFSettings()) is OWN
    both = Capabilities.of(["text"], ["text", "image"])
    assert {*overridden(both, HFSettings(outputs="image")).outputs} == {"image"}
    with pytest.raises(UsageError, match="never audio"):
        overridden(OWN, HFSettings(outputs="text+audio"))
    for settings in (HFSettings(inputs="text+imgae"), HFSettings(outputs="text+imgae")):
        with pytest.raises(UnknownNameError) as caught:
            overridden(OWN, settings)
        assert caught.value.name == "imgae"
        assert "image" in caught.value.known
