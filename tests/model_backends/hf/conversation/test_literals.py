from __future__ import annotations

import time

from mmeval.model_backends.hf.conversation.literals import Literals, listed, literals_of
from tests.support.local_models import chat_adapter

SOME = Literals(["<image>", "</s>", "<image_end>", "!", "pad", "  "])


def test_a_control_token_becomes_words_that_look_the_same() -> None:
    text, found = SOME.neutral("a <image> and </s></s>")
    assert text == "a <\u200bimage> and <\u200b/s><\u200b/s>"
    assert found == ("<image>", "</s>")


def test_the_longest_token_is_the_one_that_was_written() -> None:
    assert Literals(["<a>", "<a><b>"]).neutral("<a><b>")[1] == ("<a><b>",)


def test_a_long_text_with_many_beginnings_of_tokens_is_read_quickly() -> None:
    page = "<p>a < b</p>\n" * 100_000
    began = time.process_time()
    assert SOME.neutral(page) == (page, ())
    assert time.process_time() - began < 5


def test_signs_that_mean_something_to_a_pattern_are_signs() -> None:
    assert Literals(["]end]", "^up^", "-x-", "\\s\\"]).neutral("]end] ^up^ -x- \\s\\ s")[1] == (
        "]end]",
        "^up^",
        "-x-",
        "\\s\\",
    )
    assert Literals([]).neutral("<s>") == ("<s>", ())


def test_words_blanks_and_single_characters_are_left_alone() -> None:
    assert SOME.neutral("pad it!  Now < image> 1 < 2") == ("pad it!  Now < image> 1 < 2", ())


def test_a_tokenizer_that_drops_spaces_without_width_gets_real_ones() -> None:
    blind = Literals(["<image>"], lambda text, token: text.replace("\u200b", "") == token)
    assert blind.neutral("<image>")[0] == "< image>"


def test_the_tokens_of_a_processor_are_those_of_its_tokenizer_and_its_placeholders() -> None:
    text = "<s> </s> <pad> <image> <fake_token_around_image> <b>"
    assert set(literals_of(chat_adapter("idefics3").processor).neutral(text)[1]) == set(text.split()) - {"<b>"}


def test_a_list_of_tokens_is_cut() -> None:
    assert listed(["<a>", "<b>", "<c>", "<d>"]) == "<a>, <b>, <c> and 1 more"
    assert listed(["<a>"]) == "<a>"
