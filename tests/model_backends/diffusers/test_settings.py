from __future__ import annotations

import pytest

from mmeval.model_backends.diffusers.settings import drawing


def test_options_become_the_arguments_of_a_pipelines_call() -> None:
    options = {
        "image.size": "1024x768",
        "image.steps": 20,
        "image.guidance_scale": 3,
        "image.negative_prompt": "no fog",
    }
    assert drawing(options) == {
        "width": 1024,
        "height": 768,
        "num_inference_steps": 20,
        "guidance_scale": 3.0,
        "negative_prompt": "no fog",
    }


def test_an_option_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"no option image\.quality here; known: image\.size"):
        drawing({"image.quality": "high"})


def test_an_option_that_is_not_given_is_left_to_the_pipeline() -> None:
    assert drawing({}) == {}


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("size", "large", "as in 1024x768"),
        ("size", "0x64", "as in 1024x768"),
        ("size", "99999x64", "8192 at most"),
        ("steps", 0, "from 1 to 1000"),
        ("steps", 2.5, "from 1 to 1000"),
        ("steps", True, "must be a number"),
        ("guidance_scale", -1, "0 or above"),
        ("guidance_scale", float("nan"), "must be a number"),
        ("negative_prompt", 7, "must be words"),
    ],
)
def test_a_value_that_means_nothing_is_refused_with_what_does(name: str, value: object, wanted: str) -> None:
    with pytest.raises(ValueError, match=rf"image\.{name}=.*{wanted}"):
        drawing({f"image.{name}": value})
