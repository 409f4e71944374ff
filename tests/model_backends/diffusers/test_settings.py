import re
from typing import Any

import pytest

from mmeval.model_backends.diffusers.settings import (
    checked_arguments,
    idle_guidance,
    is_taken,
    options_of,
    parameter_of,
    requested_arguments,
)
from mmeval.model_backends.diffusers.signatures import signature_of


def test_options_become_the_arguments_of_a_pipelines_call() -> None:
    given = {
        "image.size": "1024x768",
        "image.steps": 20,
        "image.guidance_scale": 3,
        "image.negative_prompt": "no fog",
        "image.strength": 0.5,
    }
    assert requested_arguments(given) == {
        "width": 1024,
        "height": 768,
        "num_inference_steps": 20,
        "guidance_scale": 3.0,
        "negative_prompt": "no fog",
        "strength": 0.5,
    }


def test_options_of_videos_and_sounds_become_arguments() -> None:
    video = {"video.size": "8192x1", "video.frames": 17, "video.fps": 24}
    assert requested_arguments(video) == {
        "width": 8192,
        "height": 1,
        "num_frames": 17,
        "fps": 24,
    }
    assert requested_arguments({"audio.seconds": 2.5}) == {"seconds": 2.5}


def test_an_argument_that_is_not_given_is_left_to_the_pipeline() -> None:
    given = {"height": None, "negative_prompt": None, "guidance_scale": 0}
    assert checked_arguments(given) == {"guidance_scale": 0.0}


def test_an_empty_negative_prompt_makes_a_guidance_scale_effective() -> None:
    arguments = checked_arguments({"negative_prompt": "", "true_cfg_scale": 4})
    assert arguments == {"negative_prompt": "", "true_cfg_scale": 4.0}
    signature = signature_of("QwenImagePipeline", None, "here")
    assert idle_guidance(arguments, signature) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("image.size", ["large", "0x64", "64x0", "8193x64", "64x8193"]),
        ("image.steps", [0, 1001, 2.5, True]),
        ("image.guidance_scale", [-1, float("nan")]),
        ("image.negative_prompt", [7]),
        ("image.strength", [0, 1.1]),
        ("image.quality", ["high"]),
        ("video.frames", [0, 2.5]),
        ("video.fps", [0, 241]),
        ("audio.seconds", [0, 3601]),
    ],
)
def test_a_value_or_an_option_that_means_nothing_is_refused_by_name(
    name: str, values: list[object]
) -> None:
    for value in values:
        with pytest.raises(ValueError, match=re.escape(name)):
            requested_arguments({name: value})


@pytest.mark.parametrize(
    ("class_name", "gives", "lacks"),
    [
        ("StableDiffusionPipeline", "image", {"image.strength"}),
        ("StableDiffusionInstructPix2PixPipeline", "image", {"image.size"}),
        ("WanPipeline", "video", set()),
        ("StableVideoDiffusionPipeline", "video", {"video.negative_prompt"}),
        ("StableAudioPipeline", "audio", set()),
    ],
)
def test_a_pipeline_has_the_options_of_what_it_gives_and_takes(
    class_name: str, gives: str, lacks: set[str]
) -> None:
    options = options_of(signature_of(class_name, None, "here"), gives)
    assert f"{gives}.steps" in options
    assert {name.partition(".")[0] for name in options} == {gives}
    assert not options & lacks


@pytest.mark.parametrize(
    ("class_name", "argument", "parameter"),
    [
        ("LTXPipeline", "fps", "frame_rate"),
        ("I2VGenXLPipeline", "fps", "target_fps"),
        ("LattePipeline", "num_frames", "video_length"),
        ("SanaVideoPipeline", "num_frames", "frames"),
        ("AudioLDM2Pipeline", "seconds", "audio_length_in_s"),
        ("StableAudioPipeline", "seconds", "audio_end_in_s"),
        ("StableAudio3Pipeline", "seconds", "duration"),
        ("FluxPipeline", "seconds", ""),
    ],
)
def test_an_argument_finds_the_name_that_a_pipeline_has_for_it(
    class_name: str, argument: str, parameter: str
) -> None:
    signature = signature_of(class_name, None, "here")
    assert parameter_of(argument, signature) == parameter


def test_the_frame_rate_of_the_file_is_an_argument_of_every_video() -> None:
    signature = signature_of("WanPipeline", None, "here")
    assert not parameter_of("fps", signature)
    assert is_taken("fps", signature, "video")
    assert not is_taken("fps", signature, "image")


@pytest.mark.parametrize(
    ("class_name", "arguments", "idle"),
    [
        ("StableDiffusionPipeline", {"negative_prompt": "fog"}, []),
        ("FluxPipeline", {"guidance_scale": 3.0}, []),
        ("FluxPipeline", {"negative_prompt": "fog"}, ["negative_prompt"]),
        (
            "FluxPipeline",
            {"negative_prompt": "fog", "true_cfg_scale": 1.0},
            ["negative_prompt"],
        ),
        ("FluxPipeline", {"negative_prompt": "", "true_cfg_scale": 3.0}, []),
        ("QwenImagePipeline", {"negative_prompt": "fog"}, []),
        ("QwenImagePipeline", {}, []),
        ("QwenImagePipeline", {"true_cfg_scale": 3.0}, ["true_cfg_scale"]),
    ],
    ids=str,
)
def test_guidance_without_an_effect_is_a_warning(
    class_name: str, arguments: dict[str, Any], idle: list[str]
) -> None:
    warnings = idle_guidance(arguments, signature_of(class_name, None, "here"))
    assert [warning.partition(" ")[0] for warning in warnings] == idle


def test_an_option_that_can_never_have_an_effect_is_not_offered() -> None:
    options = options_of(signature_of("QwenImagePipeline", None, "here"), "image")
    assert "image.guidance_scale" not in options
    assert {"image.true_cfg_scale", "image.negative_prompt"} <= options
