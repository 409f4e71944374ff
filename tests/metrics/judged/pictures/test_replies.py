from __future__ import annotations

import pytest

from mmeval.judge import ReplyError, ReplyForm
from mmeval.metrics.judged.pictures.replies import (
    characters_form,
    first_letter,
    letter_form,
    listed_texts,
    plain_characters,
    plain_letter,
    plain_texts,
    stated_letter,
    words_form,
    yes_no_form,
)
from mmeval.metrics.judged.reading import Reading

ABC = ("A", "B", "C")


@pytest.mark.parametrize(
    ("said", "yes", "no"),
    [
        *[("Yes", True, False), ("There are no eyes here. No", True, True)],
        *[("yes, but the picture shows something else entirely", False, False), ("It lies under snow", False, True)],
        *[("I think there are none", False, True), ("yes" + "x" * 17, True, False), ("yes" + "x" * 18, False, False)],
        *[("NO" + "x" * 18 + " " * 20 + "\n", False, True), ("NO" + "x" * 19, False, False), ("是", False, False)],
    ],
)
def test_the_release_looks_for_the_word_in_the_last_20_characters(said: str, yes: bool, no: bool) -> None:
    found = [yes_no_form("official", word).read(said)["answer"] for word in ("yes", "no")]
    assert found == ["yes" if yes else "", "no" if no else ""]


@pytest.mark.parametrize(
    ("said", "letters", "letter"),
    [
        *[("Answer: A", "ABC", "A"), ("**Answer: D**", "ABCDE", "D"), ("**Answer: D**", "ABC", "")],
        *[("first Answer: A then Answer: B", "ABC", "A"), ("Answer:A", "ABC", ""), ("Answer: (A)", "ABC", "")],
        *[("Answer: a", "ABC", ""), ("A", "ABC", "")],
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
        *[('["Hello", "World"]', "hello world"), ('I read: ["A"] and ["B"]', "a"), ("['Hello']", "")],
        *[('["Hello",\n"World"]', ""), ('["Hello", 4]', ""), ("[" * 100_000 + "]" * 100_000, ""), ("Hello", "")],
        ("[]", ""),
    ],
    ids=lambda value: value[:20],
)
def test_the_release_reads_the_first_strict_list_on_one_line(said: str, words: str) -> None:
    assert listed_texts(said) == words


def test_the_release_keeps_the_chinese_characters_of_a_reply() -> None:
    assert characters_form("official").read("“和平”, hé 3")["answer"] == "和平"


@pytest.mark.parametrize("reading", ["robust", "official"])
@pytest.mark.parametrize("said", ["", " \n"])
def test_an_empty_reply_is_refused_by_every_reading(said: str, reading: Reading) -> None:
    forms = (yes_no_form(reading, "yes"), letter_form(reading, ABC), words_form(reading), characters_form(reading))
    for form in forms:
        with pytest.raises(ReplyError):
            form.read(said)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        *[('{"reason": "r", "answer": "yes"}', "yes"), ("```json\n{'answer': False}\n```", "no"), ("Yes", "yes")],
        *[("**No.**", "no"), ("I see a kite. So the answer is yes", "yes"), ("There are no eyes here. No", "no")],
        ("Answer: “Yes”", "yes"),
    ],
)
def test_a_robust_reading_takes_what_is_said_however_it_is_dressed(said: str, answer: str) -> None:
    assert yes_no_form("robust", "yes").read(said)["answer"] == answer


NOT_SAID = [
    *("yes, but the picture shows something else entirely", "I cannot say yes or no", "It lies under snow", "是"),
    *("It would be wrong to hold that the answer is yes", '{"reason": "cut off, "answer": "yes'),
    *('{"answer": "perhaps"}', '{"answer": "yes"} {"answer": "no"}'),
]


@pytest.mark.parametrize("said", NOT_SAID)
def test_a_robust_reading_refuses_what_is_not_said(said: str) -> None:
    with pytest.raises(ReplyError):
        yes_no_form("robust", "yes").read(said)


LETTERS = {"B": "B", "**Answer: B**": "B", "b. three": "B", "(C)": "C", "The answer is C.": "C", "Answer: (A)": "A"}
UNCLEAR = ["first Answer: A then Answer: B", "A dog is on the left", "Answer: D", "the answer is a dog", "3", "左"]


@pytest.mark.parametrize("said", [*LETTERS, *UNCLEAR, "b.c. art"])
def test_a_letter_may_be_the_whole_reply_or_be_stated_and_else_is_refused(said: str) -> None:
    if said in LETTERS:
        assert plain_letter(said, ABC) == LETTERS[said]
    else:
        with pytest.raises(ReplyError):
            plain_letter(said, ABC)


def test_texts_may_stand_in_any_quotes_and_nothing_but_texts() -> None:
    assert plain_texts("Here: ['Hello', \"you\",]") == "Hello you"
    assert words_form("robust").read('{"answer": ["Hello", "you"]}')["answer"] == "Hello you"
    assert words_form("robust").read('{"answer": []}')["answer"] == ""
    for said in ("Hello", "[1, 2]", '{"answer": "Hello"}', "['cut"):
        with pytest.raises(ReplyError):
            words_form("robust").read(said)


NO_CHARACTERS = ["The picture says:\n和平", "I cannot make out any characters.", "图片中没有文字，只有花"]


@pytest.mark.parametrize("said", [*NO_CHARACTERS, "和平 (hé píng)", "“”"])
def test_characters_are_one_line_and_not_prose(said: str) -> None:
    assert plain_characters(" “和平” ") == "和平"
    assert characters_form("robust").read('{"answer": "和平"}')["answer"] == "和平"
    with pytest.raises(ReplyError):
        plain_characters(said)


@pytest.mark.parametrize(
    ("form", "read", "unread"),
    [
        (yes_no_form("official", "yes"), "No", "Perhaps"),
        (letter_form("official", "ABC"), "Answer: A", "A"),
        (letter_form("official", "ABC", stated=False), "b", "D"),
        (words_form("official"), "[]", "nothing"),
        (characters_form("official"), "\u5e73", "none"),
    ],
)
def test_an_official_reply_without_the_requested_form_is_marked(form: ReplyForm, read: str, unread: str) -> None:
    assert ["unreadable" in form.read(said) for said in (read, unread)] == [False, True]
