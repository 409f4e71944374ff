from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from mmeval.content.media import Media
from mmeval.content.parts import Part, media_part, text_part
from mmeval.errors import UnknownNameError, UsageError
from mmeval.records.request import GenerationParams, Request
from mmeval.records.sample import message, user
from tests.support import tiny_media as tiny

PICTURE = tiny.picture()
OTHER = tiny.picture(colour=(0, 0, 1))
ASKED = Request((user("What is this?", Media.from_bytes(PICTURE)),), GenerationParams(max_tokens=8), ("text",))
words = st.text(max_size=6)


@pytest.mark.parametrize(
    "changed",
    [
        Request((user("What is that?", Media.from_bytes(PICTURE)),), ASKED.params, ASKED.wants),
        Request((user("What is this?", Media.from_bytes(OTHER)),), ASKED.params, ASKED.wants),
        Request((user(Media.from_bytes(PICTURE), "What is this?"),), ASKED.params, ASKED.wants),
        Request((user("What is this?"),), ASKED.params, ASKED.wants),
        Request((message("system", "What is this?", Media.from_bytes(PICTURE)),), ASKED.params, ASKED.wants),
        Request((*ASKED.messages, user()), ASKED.params, ASKED.wants),
        Request(ASKED.messages, GenerationParams(max_tokens=9), ASKED.wants),
        Request(ASKED.messages, GenerationParams(max_tokens=8, options={"image.size": "a"}), ASKED.wants),
        Request(ASKED.messages, ASKED.params, ("text", "image")),
        Request((user("What is ", "this?", Media.from_bytes(PICTURE)),), ASKED.params, ASKED.wants),
    ],
    ids=["word", "byte", "order", "medium", "role", "message", "parameter", "option", "wanted kind", "parts"],
)
def test_whatever_is_asked_differently_has_another_digest(changed: Request) -> None:
    assert changed.digest != ASKED.digest


def test_neither_seed_nor_file_name_nor_place_changes_a_digest(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(PICTURE)
    moved = Media.from_path(tmp_path / "b.png")
    again = Request((user("What is this?", moved),), ASKED.params, ASKED.wants, seed=7)
    assert again.digest == ASKED.digest
    assert ASKED.with_seed(3).digest == ASKED.digest
    assert ASKED.with_seed(3).seed == 3


def test_two_requests_never_read_alike_where_words_contain_what_separates_fields() -> None:
    texts = ["a", "a1:b", "1:a", "", "a\x00b", "4:text"]
    digests = {Request((user(one, other),)).digest for one in texts for other in texts}
    assert len(digests) == len(texts) ** 2


def test_a_request_reads_the_kinds_that_have_content() -> None:
    parts = (text_part("x"), media_part(Media.from_bytes(tiny.wav(4))), Part("image", raw="<image1>"))
    assert Request((user(*parts),)).kinds() == {"text", "audio"}


def test_known_names_of_generation_parameters_are_understood() -> None:
    params = GenerationParams.from_mapping(
        {"max_gen_toks": "16", "until": "END", "do_sample": False, "top_p": 1, "image.size": "1024x1024"}
    )
    assert params == GenerationParams(
        max_tokens=16, temperature=0.0, top_p=1.0, stop=("END",), options={"image.size": "1024x1024"}
    )


@pytest.mark.parametrize(
    "values",
    [{"do_sample": False, "temperature": 0.8}, {"temperature": 0.8, "do_sample": False}],
    ids=["before", "after"],
)
def test_without_sampling_the_temperature_is_zero_wherever_it_is_written(values: dict[str, Any]) -> None:
    assert GenerationParams.from_mapping(values).temperature == 0.0


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"temprature": 1}, UnknownNameError, 'did you mean "temperature"'),
        ({"max_tokens": "many"}, UsageError, "max_tokens='many'"),
        ({"stop": 5}, UsageError, "stop=5"),
        ({"max_tokens": 2.9}, UsageError, "max_tokens=2.9: must be a whole number"),
        ({"top_k": "1.5"}, UsageError, "top_k='1.5': must be a whole number"),
        ({"temperature": float("nan")}, UsageError, "temperature=nan: must be a number"),
        ({"top_p": "inf"}, UsageError, "top_p='inf': must be a number"),
        ({"max_gen_toks": 0}, UsageError, "max_tokens=0: must be at least 1"),
        ({"temperature": -0.1}, UsageError, "temperature=-0.1: must be at least 0"),
        ({"top_p": 0}, UsageError, "top_p=0: must be above 0 and at most 1"),
        ({"top_p": 1.5}, UsageError, "top_p=1.5: must be above 0 and at most 1"),
    ],
)
def test_a_wrong_generation_parameter_is_refused_by_name(
    values: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        GenerationParams.from_mapping(values)
