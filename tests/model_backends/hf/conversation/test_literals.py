import pytest

from mmeval.model_backends.hf.conversation.literals import Literals, literals_of
from tests.support.models import chat_of

SOME = Literals(["<image>", "</s>", "<image_end>", "!", "pad", "  "])


def test_a_control_token_becomes_words_that_look_the_same() -> None:
    text, found = SOME.neutral("a <image> and </s></s>")
    assert text == "a <\u200bimage> and <\u200b/s><\u200b/s>"
    assert found == ("<image>", "</s>")
    blind = Literals(
        ["<image>"], lambda text, token: text.replace("\u200b", "") == token
    )
    assert blind.neutral("<image>")[0] == "< image>"


@pytest.mark.parametrize(
    "text",
    ["pad it!  Now < image> 1 < 2", "<p>a < b</p>\n" * 10_000],
    ids=["short", "long"],
)
def test_words_blanks_single_characters_and_beginnings_of_tokens_are_left_alone(
    text: str,
) -> None:
    assert SOME.neutral(text) == (text, ())
    assert Literals([]).neutral("<s>") == ("<s>", ())


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["<a>", "<a><b>"], "<a><b>"),
        (["]end]", "^up^", "-x-", "\\s\\"], "]end] ^up^ -x- \\s\\"),
    ],
)
def test_the_longest_token_and_signs_of_a_pattern_are_found(
    tokens: list[str], text: str
) -> None:
    assert Literals(tokens).neutral(text + " s")[1] == tuple(text.split())


def test_the_tokens_of_a_processor_are_those_of_its_tokenizer_and_its_placeholders() -> (
    None
):
    text = "<s> </s> <pad> <image> <fake_token_around_image> <b>"
    assert set(literals_of(chat_of("idefics3").processor).neutral(text)[1]) == set(
        text.split()
    ) - {"<b>"}
