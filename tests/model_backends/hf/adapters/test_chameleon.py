import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pytest

from mmeval.errors import UsageError
from mmeval.media.decode import image
from mmeval.media.parts import PartKind
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.hf.adapters.chameleon import ChameleonAdapter
from mmeval.records import Request, Response, message
from tests.support.models import (
    adapter_of,
    answers,
    asked,
    drawn,
    files_of,
    loaded,
    settings_for,
    tiny_model,
)

CODES, SIDE = 16, 4


class Drawing(ChameleonAdapter):
    """With a decoder: a grey level for each code."""

    def decode_codes(self, codes: Sequence[int]) -> Any:
        return numpy.array(codes, dtype=numpy.uint8).reshape(SIDE, SIDE)


@cache
def drawing() -> Drawing:
    folder = tiny_model("chameleon")
    made = Drawing(files_of(folder), settings_for(folder, device="cpu"))
    made.load()
    return made


def drawn_by(*requests: Request) -> list[Response]:
    return [
        response
        for _, response in sorted(drawing().answer(requests), key=lambda row: row[0])
    ]


def wanting(
    *wants: PartKind, words: str = "draw", max_tokens: int = 60, **params: Any
) -> Request:
    return replace(
        asked(words, max_tokens=max_tokens, **{"temperature": 1.0, **params}),
        wants=wants,
    )


def test_turns_stand_between_separators_and_the_last_one_ends_with_one() -> None:
    before = (message("user", "one"), message("assistant", "two"))
    adapter = adapter_of(ChameleonAdapter, "chameleon", "chameleon")
    encoded = adapter.encode([adapter.row(0, asked("three ", drawn(), before=before))])[
        "input_ids"
    ][0]
    text = adapter.tokenizer.decode(encoded).replace("<image>" * CODES, "<image>")
    sep, end = "<reserved08706>", "<racm3:break><image><eoss>"
    assert text == f"one{sep}two{sep}three {end}{sep}"


def test_without_a_decoder_no_picture_is_begun_and_pictures_are_refused(
    tmp_path: Path,
) -> None:
    requests = [
        asked("draw", temperature=1.0, seed=seed, max_tokens=60) for seed in range(4)
    ]
    found = answers(loaded("chameleon", "chameleon"), requests)
    assert all(
        {part.kind for part in r.output.parts} == {"text"} for r in found if r.output
    )
    assert not any(r.error or r.warnings for r in found)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "chameleon"}))
    with pytest.raises(UsageError, match=r"text\+image: .*decode_codes"):
        HFBackend(pretrained=str(tmp_path), outputs="text+image")
    assert {*HFBackend(pretrained=str(tmp_path)).capabilities.outputs} == {
        "text",
        "code",
    }


def test_with_a_decoder_pictures_come_in_the_order_of_the_stream_or_alone() -> None:
    found = drawn_by(
        *(wanting("text", "image", seed=seed, max_tokens=400) for seed in range(2))
    )
    parts = [
        part for response in found if response.output for part in response.output.parts
    ]
    assert {*drawing().capabilities.outputs} == {"text", "image", "code"}
    assert {image(part.media).size for part in parts if part.media} == {(SIDE, SIDE)}
    assert any(part.kind == "text" for part in parts)
    prompts = ("a hare", "two squares and a line", "nothing", "why not")
    alone = [
        r.output
        for r in drawn_by(
            *(wanting("image", words=words, temperature=0.0) for words in prompts)
        )
    ]
    assert [[part.kind for part in output.parts] for output in alone if output] == [
        ["image"]
    ] * 4
    assert len(set(alone)) > 1


def test_a_picture_without_numbers_costs_its_row_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pictures = iter([numpy.full((SIDE, SIDE), numpy.nan), numpy.zeros((SIDE, SIDE))])
    monkeypatch.setattr(Drawing, "decode_codes", lambda *_: next(pictures))
    bad, good = drawn_by(
        wanting("image", temperature=0.0),
        wanting("image", words="a hare", temperature=0.0),
    )
    assert (bad.error and bad.error.kind) == "internal"
    assert good.error is None
