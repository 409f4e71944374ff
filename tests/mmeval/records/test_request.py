import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.media.media import Media
from mmeval.records.request import GenerationParams, Request
from mmeval.records.sample import message, user
from tests.support import tiny_media as tiny

PICTURE, OTHER = (
    Media.from_bytes(tiny.picture(colour=colour))
    for colour in ((200, 30, 30), (0, 0, 1))
)
ASKED = Request(
    (user("What is this?", PICTURE),), GenerationParams(max_tokens=8), ("text",)
)
CHANGES = {
    "word": replace(ASKED, messages=(user("What is that?", PICTURE),)),
    "byte": replace(ASKED, messages=(user("What is this?", OTHER),)),
    "order": replace(ASKED, messages=(user(PICTURE, "What is this?"),)),
    "medium": replace(ASKED, messages=(user("What is this?"),)),
    "role": replace(ASKED, messages=(message("system", "What is this?", PICTURE),)),
    "message": replace(ASKED, messages=(*ASKED.messages, user())),
    "parts": replace(ASKED, messages=(user("What is ", "this?", PICTURE),)),
    "parameter": replace(ASKED, params=GenerationParams(max_tokens=9)),
    "option": replace(
        ASKED, params=GenerationParams(max_tokens=8, options={"image.size": "a"})
    ),
    "wanted kind": replace(ASKED, wants=("text", "image")),
}


def test_a_request_that_differs_has_another_digest() -> None:
    assert len({changed.digest for changed in (ASKED, *CHANGES.values())}) == 1 + len(
        CHANGES
    )


def test_neither_seed_nor_file_name_nor_place_changes_a_digest(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(PICTURE.read())
    moved = replace(
        ASKED,
        messages=(user("What is this?", Media.from_path(tmp_path / "b.png")),),
        seed=7,
    )
    seeded = ASKED.with_seed(3)
    assert (moved.digest, seeded.digest, seeded.seed) == (ASKED.digest, ASKED.digest, 3)


def test_a_request_keeps_its_digest_on_its_way_to_a_worker() -> None:
    converted = ASKED.with_messages((user("What is this?", OTHER),))

    assert pickle.loads(pickle.dumps(converted)).digest == ASKED.digest


def test_a_request_whose_digest_is_known_equals_one_whose_digest_is_not() -> None:
    inspected = replace(ASKED, seed=1)
    assert inspected.digest

    assert inspected == replace(ASKED, seed=1)


def test_requests_whose_parameters_come_and_go_keep_their_digests() -> None:
    def digests() -> list[str]:
        return [
            Request(ASKED.messages, GenerationParams(max_tokens=n)).digest
            for n in range(1, 200)
        ]

    first = digests()
    assert len(set(first)) == len(first)
    assert digests() == first


def test_two_requests_never_read_alike_where_words_contain_what_separates_fields() -> (
    None
):
    texts = ["a", "a1:b", "1:a", "", "a\x00b", "4:text"]
    digests = {
        Request((user(first_text, second_text),)).digest
        for first_text in texts
        for second_text in texts
    }
    assert len(digests) == len(texts) ** 2


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            {
                "max_gen_toks": "16",
                "until": "END",
                "do_sample": False,
                "top_p": 1,
                "image.size": "1024x1024",
            },
            GenerationParams(
                16, 0.0, 1.0, stop=("END",), options={"image.size": "1024x1024"}
            ),
        ),
        ({"do_sample": False, "temperature": 0.8}, GenerationParams(temperature=0.0)),
        ({"temperature": 0.8, "do_sample": False}, GenerationParams(temperature=0.0)),
        (
            {"max_tokens": 1, "temperature": 0, "do_sample": True},
            GenerationParams(max_tokens=1, temperature=0.0),
        ),
        ({"top_k": 3.0, "stop": ["a", 1]}, GenerationParams(top_k=3, stop=("a", "1"))),
    ],
    ids=["known names", "no sampling before", "no sampling after", "lowest", "whole"],
)
def test_parameters_of_other_harnesses_are_understood(
    values: dict[str, Any], expected: GenerationParams
) -> None:
    assert GenerationParams.from_mapping(values) == expected


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"max_tokens": "many"}, "max_tokens='many'.* whole"),
        ({"stop": 5}, "stop=5.* string"),
        ({"max_tokens": 2.9}, "max_tokens=2.9.* whole"),
        ({"temperature": float("nan")}, "temperature=nan.* a number"),
        ({"max_gen_toks": 0}, "max_tokens=0.* 1"),
        ({"temperature": -0.1}, "temperature=-0.1.* 0"),
        ({"top_p": 0}, "top_p=0.* above 0"),
        ({"top_p": 1.5}, "top_p=1.5.* at most 1"),
    ],
    ids=str,
)
def test_a_wrong_value_is_refused_with_its_name_and_range(
    values: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        GenerationParams.from_mapping(values)


def test_the_options_of_one_modality_lack_its_prefix() -> None:
    params = GenerationParams(
        options={"image.size": "8x8", "image.quality": "low", "3d.faces": 9}
    )
    assert params.options_of("image") == {"size": "8x8", "quality": "low"}
    assert (params.options_of("3d"), params.options_of("audio")) == ({"faces": 9}, {})


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"temperature": 0.5}, "temperature"),
        ({"temperature": 0.5, "do_sample": False}, "temperature"),
        ({"max_gen_toks": 64}, "max_new_tokens"),
        ({"until": ["x"]}, "stop"),
        ({"top_p": 0.9}, "top_p"),
    ],
)
def test_none_leaves_out_what_a_task_gives(
    values: dict[str, object], name: str
) -> None:
    for none in (None, "none"):
        assert GenerationParams.from_mapping({**values, name: none}).to_json() == {}


def test_none_of_a_role_leaves_out_what_its_calls_give() -> None:
    params = GenerationParams(temperature=0.5, max_tokens=64, stop=("x",))
    over = GenerationParams.from_mapping({"temperature": None, "until": None})
    assert params.overlaid(over) == GenerationParams(max_tokens=64)


def test_a_parameter_that_is_left_out_stays_left_out() -> None:
    none = GenerationParams.from_mapping({"temperature": "none"})
    of_role = GenerationParams(temperature=1).overlaid(none)
    assert GenerationParams(temperature=0).overlaid(of_role) == GenerationParams()
