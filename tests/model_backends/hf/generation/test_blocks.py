import re

import pytest

from mmeval.model_backends.hf.generation.blocks import (
    Block,
    BrokenBlock,
    Piece,
    Words,
    split,
    split_runs,
)
from tests.model_backends.hf.generation.block_tokens import (
    BEGIN,
    C1,
    C2,
    END,
    FRAME,
    LINE,
    PLACEHOLDER,
    TOKENS,
    WRAPPER,
    A,
    B,
    size,
)

BODY = (C1, LINE, C2, LINE)


def block(
    text: str = "2*1",
    body: tuple[int, ...] = BODY,
    tail: tuple[int, ...] = (FRAME, END),
) -> list[int]:
    return [BEGIN, *size(text), WRAPPER, *body, *tail]


def pieces(*ids: int) -> list[Piece]:
    return list(split(ids, TOKENS))


PICTURE = Block(2, 1, BODY)


def test_a_stream_is_cut_into_words_and_pictures_in_its_order() -> None:
    assert pieces(A, *block(), B, A, *block()) == [
        Words((A,)),
        PICTURE,
        Words((B, A)),
        PICTURE,
    ]
    assert pieces(*block(), *block()) == [PICTURE, PICTURE]
    assert pieces(*size("4*4"), A) == [Words((*size("4*4"), A))]
    assert pieces() == []
    broken, words = pieces(BEGIN, *size("2*1"), WRAPPER, C1, A, B)
    assert isinstance(broken, BrokenBlock) and not broken.cut
    assert words == Words((A, B))
    assert pieces(BEGIN, *size("2"), *block())[1:] == [PICTURE]
    run, found = [BEGIN, C1, C2, END], Block(1, 2, (C1, C2))
    assert list(split_runs([A, *run, B, *run], TOKENS, 2)) == [
        Words((A,)),
        found,
        Words((B,)),
        found,
    ]


@pytest.mark.parametrize("length", range(1, len(block())))
def test_a_picture_that_the_stream_ends_in_is_cut_off(length: int) -> None:
    first, broken = pieces(A, *block()[:length])
    assert first == Words((A,))
    assert isinstance(broken, BrokenBlock)
    assert broken.cut
    if length == 7:
        assert re.findall(r"\d+", broken.reason) == ["1", "2"]


UNCODED = [
    block(body=body) for body in ((C1, C2, LINE, LINE), (C1, LINE, PLACEHOLDER, LINE))
]


@pytest.mark.parametrize(
    ("reason", "written"),
    [
        ("2 rows of 2", [block("2*2")]),
        ("2 rows of 1", [*UNCODED, block(tail=(END,))]),
        *((f"'{text}'", [block(text)]) for text in ("0*1", "1*0", "21", "9999999*1")),
        ("no size", [[BEGIN, END], [BEGIN, *size("2*1"), END]]),
    ],
)
def test_a_picture_that_is_written_wrongly_is_malformed(
    reason: str, written: list[list[int]]
) -> None:
    for ids in written:
        broken, words = pieces(*ids, A)
        assert isinstance(broken, BrokenBlock)
        assert broken.cut is False
        assert broken.reason.endswith(reason)
        assert words == Words((A,))


@pytest.mark.parametrize("stray", [C1, LINE, WRAPPER, FRAME, END, PLACEHOLDER])
def test_codes_outside_of_a_picture_are_one_broken_picture_a_run(stray: int) -> None:
    first, outside, last = pieces(A, stray, stray, B)
    assert isinstance(outside, BrokenBlock)
    assert first == Words((A,))
    assert outside.cut is False
    assert last == Words((B,))


@pytest.mark.parametrize(
    ("run", "rest", "cut"),
    [
        ([BEGIN, C1], [], True),
        ([BEGIN, C1, END], [A], False),
        ([BEGIN, C1], [A], False),
        ([BEGIN], [], True),
    ],
    ids=["cut off", "too short", "without an end", "just begun"],
)
def test_a_picture_of_a_fixed_length_that_lacks_codes_is_broken(
    run: list[int], rest: list[int], cut: bool
) -> None:
    broken, *words = split_runs([*run, *rest], TOKENS, 2)
    assert isinstance(broken, BrokenBlock)
    assert broken.cut == cut
    assert words == ([Words((A,))] if rest else [])
