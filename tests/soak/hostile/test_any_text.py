"""Any text that is parsed into parts can be written again."""

from hypothesis import given
from hypothesis import strategies as st

from mmeval.media.media import Media
from mmeval.media.parts import (
    Interleaved,
    split_reasoning,
)
from tests.mmeval.media.test_parts import SOME_SPELLINGS, media, near_grammar


@given(near_grammar, st.lists(media, max_size=3), SOME_SPELLINGS)
def test_parsed_text_renders_back_byte_for_byte(
    text: str, made: list[Media], spellings: tuple[str, ...]
) -> None:
    labelled = {
        f"{medium.kind}{number}": medium for number, medium in enumerate(made)
    } | {"code1": "print(1)"}
    for answer in (
        Interleaved.from_text(text, labelled, spellings=spellings),
        Interleaved.from_reply(text, made, spellings=spellings),
    ):
        assert (answer.raw, answer.respelled(spellings) is answer) == (text, True)
    assert Interleaved(tuple(split_reasoning(text, "<think>", "</think>"))).raw == text
