from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import pytest

from mmeval.judge.form import ReplyForm
from mmeval.judge.json_reply import ReplyError
from mmeval.metrics.judged.pictures.replies import (
    characters_form,
    first_letter,
    letter_form,
    listed_texts,
    plain_characters,
    plain_letter,
    plain_texts,
    plain_yes_no,
    stated_letter,
    words_form,
    yes_no_form,
)

ABC = ("A", "B", "C")


@pytest.mark.parametrize(
    ("said", "yes", "no"),
    [
        ("Yes", True, False),
        ("There are no eyes here. No", True, True),
        ("yes, but the picture shows something else entirely", False, False),
        ("It lies under snow", False, True),
        ("I think there are none", False, True),
        ("yes" + "x" * 17, True, False),
        ("yes" + "x" * 18, False, False),
        ("NO" + "x" * 18 + " " * 20 + "\n", False, True),
        ("NO" + "x" * 19, False, False),
        ("是", False, False),
    ],
)
def test_the_release_looks_for_the_word_in_the_last_20_characters(said: str, yes: bool, no: bool) -> None:
    found = [yes_no_form("official", word).read(said)["answer"] for word in ("yes", "no")]
    assert found == ["yes" if yes else "", "no" if no else ""]


@pytest.mark.parametrize(
    ("said", "letters", "letter"),
    [
        ("Answer: A", "ABC", "A"),
        ("**Answer: D**", "ABCDE", "D"),
        ("**Answer: D**", "ABC", ""),
        ("first Answer: A then Answer: B", "ABC", "A"),
        ("Answer:A", "ABC", ""),
        ("Answer: (A)", "ABC", ""),
        ("Answer: a", "ABC", ""),
        ("A", "ABC", ""),
    ],
)
def test_the_release_takes_the_first_letter_that_is_stated_exactly(said: str, letters: str, letter: str) -> None:
    assert stated_letter(said, letters) == letter
    assert letter_form("official", letters).read(said)["answer"] == letter


@pytest.mark.parametrize(
    ("said", "letter"), [(" b. 3", "B"), ("four", "F"), ("A few", "A"), ("3", "3"), ("**C**", "*")]
)
def test_the_release_takes_the_first_character_for_the_letter_of_a_count(said: str, letter: str) -> None:
    assert first_letter(said) == letter


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('["Hello", "World"]', "hello world"),
        ('I read: ["A"] and ["B"]', "a"),
        ("['Hello']", ""),
        ('["Hello",\n"World"]', ""),
        ('["Hello", 4]', ""),
        ("[" * 100_000 + "]" * 100_000, ""),
        ("Hello", ""),
        ("[]", ""),
    ],
    ids=lambda value: value[:20],
)
def test_the_release_reads_the_first_strict_list_on_one_line(said: str, words: str) -> None:
    assert listed_texts(said) == words


def test_the_release_keeps_the_chinese_characters_of_a_reply() -> None:
    assert characters_form("official").read("“和平”, hé 3")["answer"] == "和平"


@pytest.mark.parametrize("said", ["", " \n"])
def test_an_empty_reply_is_refused_by_every_reading(said: str) -> None:
    for reading in ("robust", "official"):
        for form in (
            yes_no_form(reading, "yes"),
            letter_form(reading, ABC),
            words_form(reading),
            characters_form(reading),
        ):
            with pytest.raises(ReplyError):
                form.read(said)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ('{"reason": "r", "answer": "yes"}', "yes"),
        ("```json\n{'answer': False}\n```", "no"),
        ("Yes", "yes"),
        ("**No.**", "no"),
        ("I see a kite. So the answer is yes", "yes"),
        ("There are no eyes here. No", "no"),
        ("Answer: “Yes”", "yes"),
    ],
)
def test_a_robust_reading_takes_what_is_said_however_it_is_dressed(said: str, answer: str) -> None:
    assert yes_no_form("robust", "yes").read(said)["answer"] == answer


@pytest.mark.parametrize(
    "said",
    [
        "yes, but the picture shows something else entirely",
        "I cannot say yes or no",
        "It lies under snow",
        "是",
        "It would be wrong to hold that the answer is yes",
        '{"reason": "cut off, "answer": "yes',
        '{"answer": "perhaps"}',
        '{"answer": "yes"} {"answer": "no"}',
    ],
)
def test_a_robust_reading_refuses_what_is_not_said(said: str) -> None:
    with pytest.raises(ReplyError):
        yes_no_form("robust", "yes").read(said)


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        ("B", "B"),
        ("**Answer: B**", "B"),
        ("b. three", "B"),
        ("(C)", "C"),
        ("The answer is C.", "C"),
        ("Answer: (A)", "A"),
    ],
)
def test_a_letter_may_be_the_whole_reply_or_be_stated(said: str, letter: str) -> None:
    assert plain_letter(said, ABC) == letter


@pytest.mark.parametrize(
    "said",
    [
        "first Answer: A then Answer: B",
        "A dog is on the left",
        "Answer: D",
        "the answer is a dog",
        "3",
        "左",
        "b.c. art",
    ],
)
def test_a_letter_that_is_not_clear_is_refused(said: str) -> None:
    with pytest.raises(ReplyError):
        plain_letter(said, ABC)


def test_texts_may_stand_in_any_quotes_and_nothing_but_texts() -> None:
    assert plain_texts("Here: ['Hello', \"you\",]") == "Hello you"
    assert words_form("robust").read('{"answer": ["Hello", "you"]}')["answer"] == "Hello you"
    assert words_form("robust").read('{"answer": []}')["answer"] == ""
    for said in ("Hello", "[1, 2]", '{"answer": "Hello"}', "['cut"):
        with pytest.raises(ReplyError):
            words_form("robust").read(said)


def test_characters_are_one_line_and_not_prose() -> None:
    assert plain_characters(" “和平” ") == "和平"
    assert characters_form("robust").read('{"answer": "和平"}')["answer"] == "和平"


@pytest.mark.parametrize(
    "said",
    ["The picture says:\n和平", "I cannot make out any characters.", "图片中没有文字，只有花", "和平 (hé píng)", "“”"],
)
def test_prose_about_characters_is_no_reading_of_them(said: str) -> None:
    with pytest.raises(ReplyError):
        plain_characters(said)


@pytest.mark.parametrize(
    "read",
    [
        plain_yes_no,
        plain_texts,
        lambda said: plain_letter(said, ABC),
        lambda said: stated_letter(said, ABC),
        listed_texts,
        words_form("robust").read,
    ],
)
@pytest.mark.parametrize("piece", ["answer is ", "answer: ", "[", "{", '["', "[]", "Answer: A\n", " ", "*", "no. "])
def test_a_hostile_reply_costs_time_that_grows_with_its_length_alone(read: Callable[[str], str], piece: str) -> None:
    said = piece * (190_000 // len(piece))
    began = time.process_time()
    with contextlib.suppress(ReplyError):
        read(said)
    assert time.process_time() - began < 1


def test_every_form_says_what_it_wants() -> None:
    assert '"answer": <"yes" or "no">' in yes_no_form("robust", "yes").asked
    assert yes_no_form("official", "yes").asked.endswith('end your reply with "Yes" or "No".')
    assert yes_no_form("official", "yes", reasons=False).asked == 'Reply with "Yes" or "No" only.'
    assert '"A", "B", "C"' in letter_form("robust", ABC).asked
    assert "`Answer: X`" in letter_form("official", ABC).asked
    assert letter_form("official", ABC, stated=False).asked == "Reply with the letter only."
    assert "JSON list of strings" in words_form("official").asked


@pytest.mark.parametrize(
    ("form", "read", "unread"),
    [
        (yes_no_form("official", "yes"), "No", "Perhaps"),
        (letter_form("official", "ABC"), "Answer: A", "A"),
        (letter_form("official", "ABC", stated=False), "b", "D"),
        (words_form("official"), "[]", "nothing"),
        (characters_form("official"), "\u5e73", "none"),
    ],
    ids=["yes or no", "stated letter", "letter", "texts", "characters"],
)
def test_an_official_reply_that_says_none_of_what_was_asked_for_is_marked(
    form: ReplyForm, read: str, unread: str
) -> None:
    assert ["unreadable" in form.read(said) for said in (read, unread)] == [False, True]
