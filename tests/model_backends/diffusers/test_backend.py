from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.create import create_backend
from mmeval.broker.batch_answer import answer_batch
from mmeval.content.parts import Interleaved
from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.model_backends.diffusers import DiffusersBackend
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import Message, user
from mmeval.testing.checks import check_backend
from tests.support.tiny_models import tiny_model
from tests.support.toy import picture, request

PIPELINE = "diffusers.StableDiffusionPipeline"


def wanted(text: str = "a hare", seed: int = 1, **options: Any) -> Request:
    named = {f"image.{name}": value for name, value in options.items()}
    return replace(request(text, options=named), wants=("image",), seed=seed)


def answers(backend: DiffusersBackend, *requests: Request) -> list[Response]:
    found = dict(backend.generate_batch(requests))
    return [found[position] for position in range(len(requests))]


def errors(responses: Sequence[Response]) -> list[str]:
    return ["" if response.error is None else response.error.kind for response in responses]


@pytest.fixture(scope="module")
def backend() -> Iterator[DiffusersBackend]:
    import torch

    torch.set_num_threads(1)
    made = DiffusersBackend(pretrained=str(tiny_model("sd")), steps=2)
    made.start()
    yield made


def test_it_keeps_the_rules_of_batch_backends(backend: DiffusersBackend) -> None:
    check_backend(backend)


def test_the_answer_is_one_png_of_the_size_that_was_asked(backend: DiffusersBackend) -> None:
    from mmeval import decode

    (response,) = answers(backend, wanted(size="48x32"))

    assert response.output is not None
    (medium,) = response.output.media("image")
    assert (medium.mime, decode.image(medium).size) == ("image/png", (48, 32))


def test_the_same_seed_draws_the_same_file_and_another_seed_another(backend: DiffusersBackend) -> None:
    first, again, other = (answers(backend, wanted(seed=seed))[0].output for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_prompt_is_the_words_of_all_messages(backend: DiffusersBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(
        f"{PIPELINE}.check_inputs", lambda self, prompt, *args, **more: told.extend(prompt), raising=True
    )
    asked = wanted()
    earlier = (user("a hare"), Message("assistant", Interleaved.from_text("Here <<image1>>")), user("and its \ud800"))
    answers(backend, replace(asked, messages=earlier))
    assert told == ["a hare\n\nHere <<image1>>\n\nand its ?"]


def test_an_option_of_the_request_overrules_the_argument(backend: DiffusersBackend) -> None:
    two, five = answers(backend, wanted())[0], answers(backend, wanted(steps=5))[0]
    assert two.output != five.output


def test_a_row_that_cannot_be_drawn_harms_no_other(backend: DiffusersBackend) -> None:
    shown = replace(wanted(), messages=(user("like this:", picture()),))
    found = answers(backend, wanted(""), wanted(), shown)
    assert errors(found) == ["bad_request", "", "unsupported"]
    assert found[1].output == answers(backend, wanted())[0].output


def test_an_option_with_a_value_that_means_nothing_fails_its_rows(backend: DiffusersBackend) -> None:
    (response,) = answers(backend, wanted(size="huge"))
    assert response.error is not None
    assert (response.error.kind, "as in 1024x768" in response.error.message) == ("bad_request", True)


def test_what_the_pipeline_refuses_is_said_in_its_words(backend: DiffusersBackend) -> None:
    found: dict[int, Response] = {}
    answer_batch(backend, [wanted("a", size="33x32"), wanted("b", size="33x32")], found.__setitem__)
    assert errors([found[0], found[1]]) == ["bad_request"] * 2
    assert found[0].error is not None
    assert "have to be divisible by 8" in found[0].error.message


def test_a_picture_of_another_size_than_was_asked_is_said(
    backend: DiffusersBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers import StableDiffusionPipeline

    whole = StableDiffusionPipeline.prepare_latents

    def rounded(self: Any, count: int, channels: int, height: int, *args: Any) -> Any:
        return whole(self, count, channels, height // 16 * 16, *args)

    monkeypatch.setattr(f"{PIPELINE}.prepare_latents", rounded)

    (response,) = answers(backend, wanted(size="48x40"))

    assert response.warnings == ("the pipeline drew 48x32 pixels, not 48x40",)


def test_what_a_pipeline_has_no_use_for_is_said(backend: DiffusersBackend) -> None:
    asked = wanted()
    (response,) = answers(backend, replace(asked, params=replace(asked.params, temperature=0.5, max_tokens=9)))
    assert response.warnings == ("a text-to-image pipeline has no use for max_tokens, temperature",)


def test_a_picture_that_the_safety_checker_blanked_is_left_out_and_said(
    backend: DiffusersBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        f"{PIPELINE}.run_safety_checker", lambda self, image, device, dtype: (image * 0, [True] + [False] * 1)
    )
    unfit, fit = answers(backend, wanted("a"), wanted("b"))
    assert (unfit.output, unfit.finish_reason) == (Interleaved(()), "content_filter")
    assert "safety checker" in unfit.warnings[0]
    assert (len(fit.output.media()) if fit.output else 0, fit.finish_reason) == (1, "stop")


def test_pixels_that_are_no_numbers_are_a_failure_and_no_black_picture(
    backend: DiffusersBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        f"{PIPELINE}.run_safety_checker", lambda self, image, device, dtype: (image * float("nan"), None)
    )
    (response,) = answers(backend, wanted())
    assert response.error is not None
    assert "NaN" in response.error.message
    assert "dtype=bfloat16" in response.error.message


def test_a_batch_that_does_not_fit_into_memory_is_halved(
    backend: DiffusersBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from diffusers import StableDiffusionPipeline

    sizes: list[int] = []
    whole = StableDiffusionPipeline.encode_prompt

    def small(self: Any, prompt: list[str], *args: Any, **more: Any) -> Any:
        sizes.append(len(prompt))
        if len(prompt) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(self, prompt, *args, **more)

    monkeypatch.setattr(f"{PIPELINE}.encode_prompt", small)
    found: dict[int, Response] = {}
    answer_batch(backend, [wanted("a"), wanted("b")], found.__setitem__)

    assert errors([found[0], found[1]]) == ["", ""]
    assert sizes == [2, 1, 1]


def test_who_answers_is_the_pipelines_bytes_and_what_it_is_told() -> None:
    folder = str(tiny_model("sd"))
    plain, told = (DiffusersBackend(pretrained=folder, size=size).identity for size in ("", "32x32"))
    assert (plain["model"], plain["pipeline"]) == ("sd", "StableDiffusionPipeline")
    assert told == {**plain, "drawing": {"width": 32, "height": 32}}


def test_no_guidance_at_all_is_something_to_ask_for() -> None:
    made = create_backend("diffusers", {"pretrained": str(tiny_model("sd")), "guidance_scale": 0})
    assert made.identity["drawing"] == {"guidance_scale": 0.0}


def test_it_is_made_without_loading_anything() -> None:
    made = DiffusersBackend(pretrained=str(tiny_model("sd")), device="cuda:7")
    assert made.capabilities.options == {"image.size", "image.steps", "image.guidance_scale", "image.negative_prompt"}
    assert made.provenance["device"] == "cuda:7"


@pytest.mark.parametrize(
    ("index", "arguments", "message"),
    [
        ({"_class_name": "FluxFillPipeline"}, {}, "this is a FluxFillPipeline, which is no text-to-image"),
        ({"_class_name": ["mine", "Mine"]}, {}, "code of its own; read it, then allow it"),
        ({"_class_name": "FluxPipeline"}, {"size": "big"}, "^size='big': write width and height"),
        ({"_class_name": "FluxPipeline"}, {"steps": -1}, "^steps=-1: must be a whole number"),
        ({"_class_name": "FluxPipeline"}, {"steps": 0}, "^steps=0: must be a whole number from 1"),
    ],
    ids=["another purpose", "code of its own", "size", "steps", "no steps"],
)
def test_what_cannot_be_used_is_refused_before_the_run(
    index: dict[str, Any], arguments: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "model_index.json").write_text(json.dumps(index))
    with pytest.raises(UsageError, match=message):
        DiffusersBackend(pretrained=str(tmp_path), **arguments)


def test_an_unknown_dtype_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UnknownNameError, match="float16"):
        DiffusersBackend(pretrained=str(tiny_model("sd")), dtype="flaot16")


def test_a_folder_with_a_chat_model_is_sent_to_the_backend_for_those() -> None:
    with pytest.raises(MissingDataError, match=r"model_index\.json: there is no such file.*--model hf"):
        DiffusersBackend(pretrained=str(tiny_model("llava")))
