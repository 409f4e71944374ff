from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.content.parts import PartKind
from mmeval.decode import image
from mmeval.errors import UsageError
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.hf.adapters.chameleon import ChameleonAdapter
from mmeval.records.request import Request
from mmeval.records.sample import message
from mmeval.testing import checks
from tests.support.local_models import answers, asked, drawn, files_of, loaded, says, settings_for
from tests.support.tiny_models import tiny_model

CODES, SIDE = 16, 4
"""Codes of a picture of the tiny model, and a row of them."""


def chameleon() -> HFBackend:
    return loaded("chameleon", "chameleon")


def adapter() -> ChameleonAdapter:
    found = chameleon().adapter
    assert isinstance(found, ChameleonAdapter)
    return found


class Drawing(ChameleonAdapter):
    """With a decoder: a grey level for each code."""

    def decode_codes(self, codes: Sequence[int]) -> Any:
        import numpy

        return numpy.array(codes, dtype=numpy.uint8).reshape(SIDE, SIDE)


def drawing() -> Drawing:
    folder = tiny_model("chameleon")
    made = Drawing(files_of(folder), settings_for(folder, device="cpu"))
    made.load()
    return made


def wanting(*wants: PartKind, words: str = "draw", max_tokens: int = 60, **params: Any) -> Request:
    return replace(asked(words, max_tokens=max_tokens, **{"temperature": 1.0, **params}), wants=wants)


def test_it_keeps_what_the_conformance_kit_asks_for() -> None:
    checks.check_backend(chameleon())


def test_turns_stand_between_separators_and_the_last_one_ends_with_one() -> None:
    before = (message("user", "one"), message("assistant", "two"))
    row = adapter().row(0, asked("three ", drawn(), before=before))
    encoded = adapter().encode([row])["input_ids"][0]
    text = adapter().tokenizer.decode(encoded).replace("<image>" * CODES, "<image>")
    sep = "<reserved08706>"
    assert text == f"one{sep}two{sep}three <racm3:break><image><eoss>{sep}"


def test_no_picture_is_begun_that_could_not_be_drawn() -> None:
    found = answers(chameleon(), [asked("draw", temperature=1.0, seed=seed, max_tokens=60) for seed in range(4)])
    assert all({part.kind for part in r.output.parts} == {"text"} for r in found if r.output)
    assert not any(r.error or r.warnings for r in found)


def test_pictures_are_refused_where_nothing_draws_them(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "chameleon"}))
    with pytest.raises(UsageError, match=r"outputs=text\+image: .*original decoder.*decode_codes"):
        HFBackend(pretrained=str(tmp_path), outputs="text+image")
    assert {*HFBackend(pretrained=str(tmp_path)).capabilities.outputs} == {"text", "code"}


def test_with_a_decoder_pictures_come_in_the_order_of_the_stream() -> None:
    made = drawing()
    requests = [wanting("text", "image", seed=seed, max_tokens=400) for seed in range(6)]
    found = [response for _, response in sorted(made.answer(requests), key=lambda row: row[0])]
    parts = [part for response in found if response.output for part in response.output.parts]
    pictures = [part.media for part in parts if part.media]
    assert {*made.capabilities.outputs} == {"text", "image", "code"}
    assert {image(media).size for media in pictures} == {(SIDE, SIDE)}
    assert any(part.kind == "text" for part in parts)


def test_with_a_decoder_a_picture_alone_is_one_picture() -> None:
    ((_, response),) = drawing().answer([wanting("image")])
    assert response.output is not None
    assert [part.kind for part in response.output.parts] == ["image"]


def test_with_a_decoder_the_model_chooses_the_codes() -> None:
    prompts = ("a hare", "two squares and a line", "nothing", "why not")
    found = drawing().answer([wanting("image", words=words, temperature=0.0) for words in prompts])
    assert len({response.output for _, response in found}) > 1


def test_without_one_the_library_goes_on_masking_codes() -> None:
    drawing()
    assert says(chameleon(), asked("draw")).text == says(chameleon(), asked("draw")).text
    assert adapter().model.model.vocabulary_mapping.image_tokens
