from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mmeval.content.media import Media
from mmeval.content.parts import Part, PartKind
from mmeval.decode import image
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.hf.adapters.emu3 import Emu3Adapter
from mmeval.model_backends.hf.generation.blocks import Block, BlockTokens
from mmeval.records import GenerationParams, Request, Response, message
from mmeval.testing import checks
from tests.support.embedded import embedded_tiny
from tests.support.local_models import answers, asked, copied, drawn, loaded, says, started

PROMPT = "draw a square"
"""What the tiny model recites one answer to: text, a picture of 4x4 codes, text."""
BOTH: tuple[PartKind, ...] = ("text", "image")


def emu3() -> HFBackend:
    return loaded("emu3", "emu3")


def adapter() -> Emu3Adapter:
    found = emu3().adapter
    assert isinstance(found, Emu3Adapter)
    return found


def wanting(
    *parts: Part | Media | str,
    wants: Sequence[PartKind] = BOTH,
    max_tokens: int | None = 120,
    seed: int = 0,
    **params: Any,
) -> Request:
    return replace(asked(*parts, max_tokens=max_tokens, seed=seed, **params), wants=tuple(wants))


def parts(response: Response) -> tuple[Part, ...]:
    assert response.output is not None, response.error
    return response.output.parts


def kinds(response: Response) -> list[str]:
    return [part.kind for part in parts(response)]


def sizes(response: Response) -> list[tuple[int, int]]:
    """Width and height in pixels of each picture."""
    return [image(part.media).size for part in parts(response) if part.media is not None]


def block(tokens: BlockTokens, height: int, width: int, *, rows: int | None = None) -> list[int]:
    """The ids of a picture; with fewer ``rows`` than its size says it is malformed."""
    by_name = {name: token for token, name in tokens.size_pieces.items()}
    code = min(tokens.codes)
    body = ([code] * width + [tokens.line_end]) * (height if rows is None else rows)
    size = [by_name[char] for char in f"{height}*{width}"]
    return [tokens.begin, *size, tokens.wrapper, *body, tokens.frame_end, tokens.end]


def test_text_and_pictures_come_in_the_order_of_the_stream() -> None:
    response = says(emu3(), wanting(PROMPT))
    first, picture, last = parts(response)
    assert (first.text, last.text) == ("Here is one: ", " and done.")
    assert (picture.kind, sizes(response)) == ("image", [(32, 32)])
    assert (response.finish_reason, response.warnings, response.usage.output_tokens) == ("stop", (), 51)


def test_equal_answers_are_equal_files() -> None:
    one, same = answers(emu3(), [wanting(PROMPT, seed=seed) for seed in (1, 2)])
    assert parts(one) == parts(same)


@pytest.mark.slow
@pytest.mark.parametrize("wants", [("text",), ("image",), BOTH], ids="+".join)
def test_it_keeps_what_the_conformance_kit_asks_for(wants: tuple[PartKind, ...]) -> None:
    checks.check_backend(emu3(), params=GenerationParams(max_tokens=100), wants=[wants])


def test_the_embedded_model_keeps_it_too() -> None:
    prompts = [message("user", "tell me of ", end) for end in ("hares", "squares", "a day", "this.", "nothing?")]
    checks.check_backend(started(embedded_tiny()), prompts, params=GenerationParams(max_tokens=100), wants=[BOTH])


def test_a_picture_in_the_prompt_has_the_same_codes_beside_a_larger_one_as_alone() -> None:
    requests = [
        wanting("see", drawn(size=(40, 30))),
        wanting("see", drawn((0, 0, 200), (64, 64))),
        wanting("see nothing"),
    ]
    rows = [adapter().row(position, request) for position, request in enumerate(requests)]
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
    pixels = made.model.decode_image_tokens(image_tokens=torch.tensor([[*ids, 0, 0, 0]]), height=2, width=2)
    theirs = np.asarray(made.processor.postprocess(pixels)["pixel_values"][0], dtype=int)
    assert np.abs(mine - theirs).max() <= 1
    assert mine.std() > 10


def test_an_answer_without_pictures_has_none_where_none_is_wanted() -> None:
    assert set(kinds(says(emu3(), wanting(PROMPT, wants=("text",))))) == {"text"}


def test_a_picture_alone_is_one_picture_of_the_usual_size() -> None:
    response = says(emu3(), wanting("anything", wants=("image",)))
    assert (kinds(response), sizes(response), response.finish_reason) == (["image"], [(64, 64)], "stop")


def test_no_limit_given_is_room_for_a_picture() -> None:
    assert adapter().usual_length(wanting(PROMPT)) == adapter().context > adapter().usual_length(asked(PROMPT))
    assert kinds(says(emu3(), wanting("anything", wants=("image",), max_tokens=None))) == ["image"]


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({"image.area": 32 * 32}, (32, 32)),
        ({"image.ratio": "2:1", "image.area": 64 * 32}, (64, 32)),
        ({"image.ratio": "1:2"}, (40, 88)),
    ],
    ids=["area", "both", "ratio"],
)
def test_options_fix_the_size_of_a_picture(options: dict[str, Any], size: tuple[int, int]) -> None:
    response = says(emu3(), wanting("anything", wants=("image",), options=options))
    assert sizes(response) == [size]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"image.ratio": "wide"}, "image.ratio must be such as 4:3"),
        ({"image.ratio": "999:1"}, "no picture of the ratio 999:1"),
        ({"image.area": 10**9}, "no picture of the ratio 1:1 and 1000000000 pixels has 1 to 64 codes"),
        ({"image.area": "big"}, "image.area must be a number"),
    ],
    ids=["no ratio", "too thin", "too large", "no number"],
)
def test_options_that_mean_nothing_are_said(options: dict[str, Any], said: str) -> None:
    error = says(emu3(), wanting(PROMPT, options=options)).error
    assert error is not None
    assert (error.kind, said in error.message) == ("bad_request", True)


def test_a_picture_that_is_cut_by_the_limit_is_dangling_and_said() -> None:
    response = says(emu3(), wanting(PROMPT, max_tokens=25))
    assert parts(response) == (parts(response)[0], Part("image"))
    assert response.finish_reason == "length"
    assert response.warnings == ("a picture is cut off: 6 of its 16 codes are there; raise max_tokens",)


def test_two_pictures_in_an_answer_stay_two() -> None:
    tokens, words = adapter()._masks.tokens, adapter().tokenizer.encode("so", add_special_tokens=False)
    made = adapter().split(wanting(PROMPT), [*block(tokens, 1, 2), *words, *block(tokens, 2, 1)])
    assert [part.kind for part in made.parts] == ["image", "text", "image"]
    assert [image(part.media).size for part in made.parts if part.media] == [(16, 8), (8, 16)]


def test_what_a_model_writes_wrongly_without_a_grammar_is_said_and_its_words_are_kept() -> None:
    tokens, words = adapter()._masks.tokens, adapter().tokenizer.encode("so", add_special_tokens=False)
    made = adapter().split(wanting(PROMPT), [*block(tokens, 2, 2, rows=1), *words])
    assert [(part.kind, part.text) for part in made.parts] == [("image", None), ("text", "so")]
    assert made.warnings == ("a picture is malformed: its codes are not 2 rows of 2",)


def test_a_word_that_ends_answers_ends_this_one() -> None:
    response = says(emu3(), wanting(PROMPT, stop=("and",)))
    assert (kinds(response), parts(response)[-1].text, response.finish_reason) == (
        ["text", "image", "text"],
        " ",
        "stop",
    )


@pytest.mark.parametrize("token", ["<image>", "<|image start|>", "<|visual token 000001|>", "<|extra_204|>"])
def test_control_tokens_in_a_text_stay_words(token: str) -> None:
    odd, plain = answers(emu3(), [wanting(f"see {token}", drawn()), wanting(PROMPT)])
    assert odd.error is None
    assert f"control tokens in the text were made plain words: {token}" in odd.warnings
    assert kinds(plain) == ["text", "image", "text"]


def test_a_picture_of_one_pixel_is_enlarged_aloud() -> None:
    response = says(emu3(), wanting("see", drawn(size=(1, 1))))
    assert response.error is None
    assert any("was enlarged" in warning for warning in response.warnings)


def test_a_picture_that_the_processor_refuses_fails_its_row_alone() -> None:
    thin, plain = answers(emu3(), [wanting("see", drawn(size=(1200, 5))), wanting(PROMPT)])
    assert (thin.error and thin.error.kind, kinds(plain)) == ("bad_request", ["text", "image", "text"])


@pytest.mark.parametrize("broken", ["lm_head", "quantize"], ids=["scores", "decoder"])
def test_numbers_that_are_none_are_an_error_with_the_way_out(broken: str) -> None:
    backend = started(emu3().files.folder)
    for name, weights in backend.adapter.model.named_parameters():  # type: ignore[attr-defined]  # the adapter's own
        if broken in name:
            weights.data.fill_(float("nan"))
    error = says(backend, wanting(PROMPT)).error
    assert error is not None
    assert (error.kind, "dtype=float32" in error.message) == ("internal", True)


def test_a_checkpoint_without_a_template_is_given_the_plain_words(tmp_path: Path) -> None:
    folder = copied("emu3", tmp_path)
    (folder / "chat_template.jinja").unlink()
    found = started(folder).adapter
    assert isinstance(found, Emu3Adapter)
    assert found.row(0, wanting("a ", drawn(), " b", system="be brief")).text == "be brief\na <image> b"


def test_its_files_alone_tell_what_it_takes_and_gives(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "emu3"}))
    found = HFBackend(pretrained=str(tmp_path)).capabilities
    assert ({*found.inputs}, {*found.outputs}, found.output_mode) == ({*BOTH, "code"}, {*BOTH, "code"}, "interleaved")
    assert found.options == {"image.ratio", "image.area"}
