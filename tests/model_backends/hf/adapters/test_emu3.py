import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mmeval.media import Part, PartKind
from mmeval.media.decode import image
from mmeval.model_backends.hf.adapters.emu3 import Emu3Adapter
from mmeval.model_backends.hf.generation.blocks import Block
from mmeval.records import Request, Response
from tests.support.models import (
    adapter_of,
    answers,
    asked,
    copied,
    drawn,
    fault,
    loaded,
    says,
    started,
)

PROMPT = "draw a square"
"""What the tiny model recites one answer to: text, a picture of 4x4 codes, text."""
BOTH: tuple[PartKind, ...] = ("text", "image")


emu3 = partial(loaded, "emu3", "emu3")
adapter = partial(adapter_of, Emu3Adapter, "emu3", "emu3")


def wanting(
    *parts: Any,
    wants: tuple[PartKind, ...] = BOTH,
    max_tokens: int | None = 120,
    **more: Any,
) -> Request:
    return replace(asked(*parts, max_tokens=max_tokens, **more), wants=wants)


def parts(response: Response) -> tuple[Part, ...]:
    assert response.output is not None, response.error
    return response.output.parts


def kinds(response: Response) -> list[str]:
    return [part.kind for part in parts(response)]


def sizes(response: Response) -> list[tuple[int, int]]:
    """Width and height in pixels of each picture."""
    return [
        image(part.media).size for part in parts(response) if part.media is not None
    ]


def test_text_and_pictures_come_in_the_order_of_the_stream_and_equal_ones_are_equal_files() -> (
    None
):
    response, same = answers(emu3(), [wanting(PROMPT, seed=seed) for seed in (1, 2)])
    first, picture, last = parts(response)
    assert first.text == "Here is one: "
    assert last.text == " and done."
    assert picture.kind == "image"
    assert sizes(response) == [(32, 32)]
    assert response.finish_reason == "stop"
    assert response.warnings == ()
    assert response.usage.output_tokens == 51
    assert parts(response) == parts(same)


def test_a_picture_in_the_prompt_has_the_same_codes_beside_a_larger_one_as_alone() -> (
    None
):
    small, large = drawn(size=(40, 30)), drawn((0, 0, 200), (64, 64))
    requests = [wanting("see", small), wanting("see", large), wanting("see nothing")]
    rows = [
        adapter().row(position, request) for position, request in enumerate(requests)
    ]
    together = adapter().encode(rows)["input_ids"]
    for row, ids in zip(rows, together.tolist(), strict=True):
        (alone,) = adapter().encode([row])["input_ids"].tolist()
        assert ids[-len(alone) :] == alone
    assert len({tuple(ids[-20:]) for ids in together.tolist()}) == 3


def test_a_picture_has_the_colours_that_the_librarys_own_processor_gives_it() -> None:
    made, tokens = adapter(), adapter()._masks.tokens
    codes = sorted(tokens.codes)
    ids = [codes[3], codes[9], tokens.line_end, codes[20], codes[50], tokens.line_end]
    mine = np.asarray(image(made._picture(Block(2, 2, tuple(ids)))), dtype=int)
    whole = torch.tensor([[*ids, 0, 0, 0]], device=made.model.device)
    pixels = made.model.decode_image_tokens(image_tokens=whole, height=2, width=2).cpu()
    theirs = np.asarray(
        made.processor.postprocess(pixels)["pixel_values"][0], dtype=int
    )
    assert np.abs(mine - theirs).max() <= 1
    assert mine.std() > 10


def test_words_alone_and_pictures_alone_may_be_wanted_and_a_template_may_be_missing(
    tmp_path: Path,
) -> None:
    assert set(kinds(says(emu3(), wanting(PROMPT, wants=("text",))))) == {"text"}
    response = says(emu3(), wanting("anything", wants=("image",)))
    assert kinds(response) == ["image"]
    assert sizes(response) == [(64, 64)]
    assert response.finish_reason == "stop"
    assert (
        adapter().usual_length(wanting(PROMPT))
        == adapter().context
        > adapter().usual_length(asked(PROMPT))
    )
    assert kinds(
        says(emu3(), wanting("anything", wants=("image",), max_tokens=None))
    ) == ["image"]
    folder = copied("emu3", tmp_path)
    (folder / "chat_template.jinja").unlink()
    found = started(folder).adapter
    assert isinstance(found, Emu3Adapter)
    assert (
        found.row(0, wanting("a ", drawn(), " b", system="be brief")).text
        == "be brief\na <image> b"
    )


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({"image.ratio": "2:1", "image.area": 64 * 32}, (64, 32)),
        ({"image.ratio": "1:2"}, (40, 88)),
    ],
    ids=["both", "ratio"],
)
def test_options_fix_the_size_of_a_picture(
    options: dict[str, Any], size: tuple[int, int]
) -> None:
    response = says(emu3(), wanting("anything", wants=("image",), options=options))
    assert sizes(response) == [size]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"image.ratio": "wide"}, "image.ratio"),
        ({"image.ratio": "999:1"}, "ratio 999:1"),
        ({"image.area": 10**9}, "1000000000 pixels must consist of 1 to 64"),
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(
    options: dict[str, Any], word: str
) -> None:
    kind, text = fault(says(emu3(), wanting(PROMPT, options=options)))
    assert kind == "bad_request"
    assert word in text


def test_a_picture_that_is_cut_is_dangling_with_a_warning_and_a_word_that_ends_answers_ends_this_one() -> (
    None
):
    response = says(emu3(), wanting(PROMPT, max_tokens=25))
    assert parts(response) == (parts(response)[0], Part("image"))
    assert response.finish_reason == "length"
    assert [re.findall(r"\d+", one) for one in response.warnings] == [["6", "16"]]
    ended = says(emu3(), wanting(PROMPT, stop=("and",)))
    assert kinds(ended) == ["text", "image", "text"]
    assert ended.finish_reason == "stop"
    assert parts(ended)[-1].text == " "


@pytest.mark.parametrize("token", ["<image>", "<|extra_204|>"])
def test_control_tokens_in_a_text_stay_words(token: str) -> None:
    odd, plain = answers(emu3(), [wanting(f"see {token}", drawn()), wanting(PROMPT)])
    assert odd.error is None
    assert any(token in warning for warning in odd.warnings)
    assert kinds(plain) == ["text", "image", "text"]


def test_a_tiny_picture_is_enlarged_and_one_that_the_processor_refuses_fails_its_row_alone() -> (
    None
):
    odd = [wanting("see", drawn(size=size)) for size in ((1, 1), (1200, 5))]
    small, thin, plain = answers(emu3(), [*odd, wanting(PROMPT)])
    assert small.error is None
    assert any("enlarged" in warning for warning in small.warnings)
    assert fault(thin)[0] == "bad_request"
    assert kinds(plain) == ["text", "image", "text"]


@pytest.mark.parametrize("broken", ["lm_head", "quantize"], ids=["scores", "decoder"])
def test_numbers_that_are_none_are_an_error_with_advice(broken: str) -> None:
    backend = started(emu3().files.folder)
    for name, weights in backend.adapter.model.named_parameters():  # type: ignore[attr-defined]  # the adapter's own
        if broken in name:
            weights.data.fill_(float("nan"))
    kind, text = fault(says(backend, wanting(PROMPT)))
    assert kind == "internal"
    assert "dtype=float32" in text
