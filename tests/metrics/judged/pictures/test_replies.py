from itertools import product

import pytest

from mmeval.metric.judge import MAX_CHARS, ReplyError, ReplyForm
from mmeval.metrics.judged.pictures.replies import (
    characters_form,
    letter_form,
    words_form,
    yes_no_form,
)
from mmeval.metrics.judged.reading import Reading

ABC = ("A", "B", "C")
YES_NO = {
    '{"reason": "r", "answer": "yes"}': "yes",
    "```json\n{'answer': False}\n```": "no",
    "Yes": "yes",
}
YES_NO |= {
    "I see a kite. So the answer is yes": "yes",
    "There are no eyes. No": "no",
    "“Yes”": "yes",
    "**No.**": "no",
}
LETTERS = {
    "B": "B",
    "**Answer: B**": "B",
    "b. three": "B",
    "(C)": "C",
    "The answer is C.": "C",
    "Answer: (A)": "A",
}
TEXTS = {
    "Here: ['Hello', \"you\",]": "Hello you",
    '{"answer": ["Hello", "you"]}': "Hello you",
    '{"answer": []}': "",
}
CHARACTERS = {" “和平” ": "和平", '{"answer": "和平"}': "和平"}
REFUSED = {
    "yes or no": [
        "yes, but the picture shows something else entirely",
        "I cannot say yes or no",
        "It lies under snow",
        "It would be wrong to hold that the answer is yes",
        '{"answer": "yes"} {"answer": "no"}',
    ],
    "letter": [
        "first Answer: A then Answer: B",
        "A dog is on the left",
        "Answer: D",
        "the answer is a dog",
        "b.c. art",
    ],
    "texts": [
        "Hello",
        "[1, 2]",
        '{"answer": "Hello"}',
        "['cut",
        " " * MAX_CHARS + "['Hello']",
    ],
    "characters": [
        "The picture says:\n和平",
        "I cannot make out any characters.",
        "和平 (hé píng)",
        "“”",
    ],
}


def test_the_release_looks_for_the_word_in_the_last_20_characters() -> None:
    words = {
        "Yes": ["yes", ""],
        "There are no eyes here. No": ["yes", "no"],
        "yes, but I see something else": ["", ""],
    }
    words |= {"It lies under snow": ["", "no"], "yes" + "x" * 17: ["yes", ""]}
    words |= {
        "yes" + "x" * 18: ["", ""],
        "NO" + "x" * 18 + " " * 20 + "\n": ["", "no"],
        "NO" + "x" * 19: ["", ""],
    }
    forms = yes_no_form("official", "yes"), yes_no_form("official", "no")
    assert {
        said: [form.read(said)["answer"] for form in forms] for said in words
    } == words


def test_the_release_takes_the_first_letter_or_strict_list_or_chinese_characters() -> (
    None
):
    stated = {
        "Answer: A": "A",
        "**Answer: D**": "",
        "first Answer: A then Answer: B": "A",
        "Answer:A": "",
        "A": "",
    }
    stated |= {"Answer: (A)": "", "Answer: a": ""}
    assert {
        said: letter_form("official", "ABC").read(said)["answer"] for said in stated
    } == stated
    assert letter_form("official", "ABCDE").read("**Answer: D**")["answer"] == "D"
    first = {" b. 3": "B", "four": "F", "A few": "A", "3": "3", "**C**": "*"}
    assert {
        said: letter_form("official", "ABC", stated=False).read(said)["answer"]
        for said in first
    } == first
    words = {
        '["Hello", "World"]': "hello world",
        'I read: ["A"] and ["B"]': "a",
        '["Hello",\n"World"]': "",
        "[]": "",
    }
    words |= dict.fromkeys(
        ["['Hello']", '["Hello", 4]', "[" * 100_000 + "]" * 100_000, "Hello"], ""
    )
    assert {
        said: words_form("official").read(said)["answer"] for said in words
    } == words
    assert characters_form("official").read("“和平”, hé 3")["answer"] == "和平"


@pytest.mark.parametrize("reading", ["robust", "official"])
def test_an_empty_reply_is_refused_by_every_reading(reading: Reading) -> None:
    forms = (
        yes_no_form(reading, "yes"),
        letter_form(reading, ABC),
        words_form(reading),
        characters_form(reading),
    )
    for form, said in product(forms, ("", " \n")):
        with pytest.raises(ReplyError):
            form.read(said)


@pytest.mark.parametrize(
    ("form", "read", "refused"),
    [
        (yes_no_form("robust", "yes"), YES_NO, "yes or no"),
        (letter_form("robust", ABC), LETTERS, "letter"),
        (words_form("robust"), TEXTS, "texts"),
        (characters_form("robust"), CHARACTERS, "characters"),
    ],
)
def test_a_robust_reading_takes_clear_replies_alone(
    form: ReplyForm, read: dict[str, str], refused: str
) -> None:
    assert {said: form.read(said)["answer"] for said in read} == read
    for said in REFUSED[refused]:
        with pytest.raises(ReplyError):
            form.read(said)


def test_an_official_reply_without_the_requested_form_is_marked() -> None:
    letters = (
        letter_form("official", "ABC"),
        letter_form("official", "ABC", stated=False),
    )
    forms = (
        yes_no_form("official", "yes"),
        *letters,
        words_form("official"),
        characters_form("official"),
    )
    replies = [
        ("No", "Perhaps"),
        ("Answer: A", "A"),
        ("b", "D"),
        ("[]", "nothing"),
        ("\u5e73", "none"),
    ]
    for form, pair in zip(forms, replies, strict=True):
        assert ["unreadable" in form.read(said) for said in pair] == [False, True]
