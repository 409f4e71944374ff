import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from mmeval.backend.create import create_backend
from mmeval.broker.batch_answer import answer_batch
from mmeval.errors import MissingDataError, UsageError
from mmeval.media import decode
from mmeval.media.parts import Interleaved
from mmeval.model_backends.diffusers import DiffusersBackend
from mmeval.records import Message, Request, Response, user
from tests.support.models import answers, fault, only, says, tiny_model
from tests.support.toy import picture, request

PIPELINE = "diffusers.StableDiffusionPipeline"


def wanted(text: str = "a hare", seed: int = 1, **options: Any) -> Request:
    named = {f"image.{name}": value for name, value in options.items()}
    return replace(request(text, options=named), wants=("image",), seed=seed)


def errors(responses: Sequence[Response]) -> list[str]:
    return [
        "" if response.error is None else response.error.kind for response in responses
    ]


def pair(backend: DiffusersBackend, *requests: Request) -> list[Response]:
    """The answers to two requests by way of the broker."""
    found: dict[int, Response] = {}
    answer_batch(backend, requests, found.__setitem__)
    return [found[0], found[1]]


@pytest.fixture(scope="module")
def backend() -> Iterator[DiffusersBackend]:
    torch.set_num_threads(1)
    made = DiffusersBackend(pretrained=str(tiny_model("sd")), num_inference_steps=2)
    made.start()
    yield made


def test_the_answer_is_one_png_of_the_size_that_was_asked_drawn_by_the_seed(
    backend: DiffusersBackend,
) -> None:
    requests = [wanted(size="48x32", seed=seed) for seed in (1, 1, 2)]
    first, again, other = (
        only("image", response) for response in answers(backend, requests)
    )
    assert first.mime == "image/png"
    assert decode.image(first).size == (48, 32)
    assert first == again != other


def test_the_prompt_is_the_words_of_all_messages(
    backend: DiffusersBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    monkeypatch.setattr(
        f"{PIPELINE}.check_inputs",
        lambda self, prompt, *args, **more: given.append(prompt),
    )
    earlier = (
        user("a hare"),
        Message("assistant", Interleaved.from_text("Here <<image1>>")),
        user("and its \ud800"),
    )
    says(backend, replace(wanted(), messages=earlier))
    assert given[0].split("\n\n") == ["a hare", "Here <<image1>>", "and its ?"]


def test_an_option_overrules_the_argument_and_a_bad_row_harms_no_other(
    backend: DiffusersBackend,
) -> None:
    two, five = says(backend, wanted()), says(backend, wanted(steps=5))
    assert two.output != five.output
    shown = replace(wanted(), messages=(user("like this:", picture()),))
    found = answers(backend, [wanted(""), wanted(), shown])
    assert errors(found) == ["bad_request", "", "unsupported"]
    assert found[1].output == says(backend, wanted()).output
    kind, text = fault(says(backend, wanted(size="huge")))
    assert kind == "bad_request"
    assert "1024x768" in text


def test_the_pipeline_gives_the_reason_and_useless_parameters_are_a_warning(
    backend: DiffusersBackend,
) -> None:
    found = pair(backend, wanted("a", size="33x32"), wanted("b", size="33x32"))
    assert [(kind, "divisible by 8" in text) for kind, text in map(fault, found)] == [
        ("bad_request", True)
    ] * 2
    asked = wanted()
    response = says(
        backend,
        replace(asked, params=replace(asked.params, temperature=0.5, max_tokens=9)),
    )
    assert [
        warning.endswith(" max_tokens, temperature") for warning in response.warnings
    ] == [True]


def test_a_picture_of_another_size_is_a_warning(
    backend: DiffusersBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers import StableDiffusionPipeline

    whole = StableDiffusionPipeline.prepare_latents

    def rounded(self: Any, count: int, channels: int, height: int, *args: Any) -> Any:
        return whole(self, count, channels, height // 16 * 16, *args)

    monkeypatch.setattr(f"{PIPELINE}.prepare_latents", rounded)
    (warning,) = says(backend, wanted(size="48x40")).warnings
    assert "48x32" in warning and warning.endswith("48x40")


def test_a_blanked_picture_is_left_out(
    backend: DiffusersBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = f"{PIPELINE}.run_safety_checker"
    fit = says(backend, wanted("b"))
    monkeypatch.setattr(checked, lambda self, image, device, dtype: (image * 0, [True]))
    unfit = says(backend, wanted("a"))
    assert unfit.output == Interleaved(())
    assert unfit.finish_reason == "refused"
    assert "safety checker" in unfit.warnings[0]
    assert only("image", fit).mime == "image/png"
    assert fit.finish_reason == "stop"
    monkeypatch.setattr(
        checked, lambda self, image, device, dtype: (image * float("nan"), None)
    )
    text = fault(says(backend, wanted()))[1]
    assert "NaN" in text
    assert "dtype=bfloat16" in text


def test_memory_that_runs_out_is_the_error_of_its_row(
    backend: DiffusersBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers import StableDiffusionPipeline

    whole = StableDiffusionPipeline.encode_prompt

    def small(self: Any, prompt: str, *args: Any, **more: Any) -> Any:
        if prompt == "b":
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(self, prompt, *args, **more)

    monkeypatch.setattr(f"{PIPELINE}.encode_prompt", small)
    assert errors(pair(backend, wanted("a"), wanted("b"))) == ["", "out_of_memory"]


def test_a_folder_with_a_chat_model_is_refused_and_nothing_is_loaded_to_make_a_backend() -> (
    None
):
    folder = str(tiny_model("sd"))
    made = DiffusersBackend(pretrained=folder, device="cuda:7")
    assert made.capabilities.options == {
        "image.size",
        "image.steps",
        "image.guidance_scale",
        "image.negative_prompt",
    }
    assert made.provenance["device"] == "cuda:7"
    assert made.identity["model"] == "sd"
    assert made.identity["pipeline"] == "StableDiffusionPipeline"
    sized = DiffusersBackend(pretrained=folder, width=32, height=32).identity
    assert sized == {**made.identity, "arguments": {"width": 32, "height": 32}}
    unguided = create_backend("diffusers", {"pretrained": folder, "guidance_scale": 0})
    assert unguided.identity["arguments"] == {"guidance_scale": 0.0}
    with pytest.raises(MissingDataError, match=r"index\.json .*--model hf"):
        DiffusersBackend(pretrained=str(tiny_model("llava")))


@pytest.mark.parametrize(
    ("name", "arguments", "word"),
    [
        (["mine", "Mine"], {}, "trust_remote_code=true"),
        ("FluxPipeline", {"dtype": "flaot16"}, '"float16"'),
        ("FluxPipeline", {"strength": 0.5}, "FluxPipeline does not use strength"),
        ("QwenImagePipeline", {"guidance_scale": 3}, "does not use guidance_scale"),
        ("WanPipeline", {"fps": 0}, "fps=0 must be"),
        ("FluxFillPipeline", {}, "mask_image.*FluxKontextPipeline"),
        ("DreamPipeline", {}, "no DreamPipeline"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_early(
    name: object, arguments: dict[str, Any], word: str, tmp_path: Path
) -> None:
    (tmp_path / "model_index.json").write_text(json.dumps({"_class_name": name}))
    with pytest.raises(UsageError, match=word):
        DiffusersBackend(pretrained=str(tmp_path), **arguments)


@pytest.mark.parametrize(
    ("model", "takes", "gives", "options"),
    [
        ("sd", "text", "image", {"image.size"}),
        ("sd_edit", "text+image", "image", {"image.guidance_scale"}),
        ("sd_img2img", "text+image", "image", {"image.strength"}),
        ("flux2", "text+image", "image", {"image.size"}),
        ("wan", "text", "video", {"video.frames", "video.fps"}),
        ("ltx_i2v", "text+image", "video", {"video.size"}),
        ("stable_video", "image", "video", {"video.fps"}),
        ("stable_audio", "text", "audio", {"audio.seconds"}),
    ],
)
def test_capabilities_say_what_a_folders_pipeline_takes_and_gives(
    model: str, takes: str, gives: str, options: set[str]
) -> None:
    capabilities = DiffusersBackend(pretrained=str(tiny_model(model))).capabilities
    assert set(capabilities.inputs) - {"code"} == set(takes.split("+"))
    assert set(capabilities.outputs) == {gives}
    assert capabilities.options is not None
    assert options <= capabilities.options


@pytest.mark.parametrize(
    ("model", "asked_for", "fit"),
    [
        ("sd", replace(wanted(), messages=(user("a", picture()),)), "Pix2Pix"),
        ("sd", replace(wanted(), wants=("video",)), "WanPipeline"),
        ("sd_edit", wanted(), "needs 1 image, but the request has 0. For pictures"),
        (
            "sd_edit",
            replace(wanted(), messages=(user("a", *[picture()] * 2),)),
            "at most 1",
        ),
        ("wan", replace(wanted(), wants=("audio",)), "StableAudioPipeline"),
        ("sd_edit", wanted(strength=0.5), "does not take image.strength"),
    ],
    ids=[
        "a picture",
        "a video",
        "no picture",
        "two pictures",
        "a sound",
        "an option",
    ],
)
def test_what_a_pipeline_cannot_do_is_unsupported_with_the_class_that_can(
    model: str, asked_for: Request, fit: str
) -> None:
    backend = DiffusersBackend(pretrained=str(tiny_model(model)))
    backend._pipeline = Unused()  # type: ignore[assignment]  # nothing reaches it
    kind, text = fault(says(backend, asked_for))
    assert kind == "unsupported"
    assert fit in text


class Unused:
    """Stands for a loaded pipeline."""
