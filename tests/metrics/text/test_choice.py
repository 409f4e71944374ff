from typing import Any

from mmeval.metrics.text.choice import choice, find_choice
from tests.support.trials import score_of, trial

ANIMALS = {"A": "a cat", "B": "a dog", "C": "a hot dog", "D": "an owl"}
STATED = [
    "Answer: B",
    "answer: b",
    "The answer is (B).",
    "Answer: A dog",
    r"So \boxed{B}",
    r"So $\boxed{\text{B}}$",
    "The correct answer to this question is B because it barks",
    "Option A is tempting. Option B is correct.",
    "At first the answer is A. But no: Final answer: B",
    "Answer: B, because it barks",
    "The answer is B, and A is wrong",
    "Answer: B. It barks, A meows",
    "It is not clear, but the answer is B",
    "That is not hard: the answer is B",
    "I would not choose A. I choose B",
]
UNCLEAR = [
    "",
    "I do not know",
    "A good question",
    "Either (A) or (B)",
    "a cat and a dog",
    "The answer is unclear",
    "E",
    "The answer is not given",
    "catalogue",
    "B or C",
    "B and D",
    "B, C",
    "B/D",
    "**B** or **C**",
    "B) and C)",
    "Answer: B, C",
    "The answer is (B) and (C)",
    "I would not choose B",
    "I would never choose (B).",
    "I don't want to pick a dog",
    "The answer is not (B).",
    "The answer isn't B",
]


def test_an_option_is_found_however_it_is_named_and_no_single_one_is_wrong() -> None:
    found = dict.fromkeys(
        ["B", " (b) ", "**B.**", "A dog."], ("B", "whole")
    ) | dict.fromkeys(STATED, ("B", "stated"))
    found |= {
        "The answer is a hot dog, of course": ("C", "stated"),
        "That must be a hot dog!": ("C", "text"),
    }
    found |= dict.fromkeys(["Answer: A", "Answer: A - meows"], ("A", "stated"))
    found |= dict.fromkeys(
        ["The answer is not A; it is (B)", "It barks, hence (B)"], ("B", "brackets")
    )
    found |= dict.fromkeys(["B. It barks", "Well,\n(B) it barks"], ("B", "line"))
    assert {answer: find_choice(answer, ANIMALS) for answer in found} == found
    assert [
        answer for answer in UNCLEAR if find_choice(answer, ANIMALS).letter is not None
    ] == []
    assert find_choice("red", {"A": "red", "B": "Red"}).letter is None
    score = score_of(
        choice,
        trial("B or C", metadata={"options": [*ANIMALS.values()], "answer": "B"}),
    )
    assert (score.value, score.status, score.evidence["found"]) == (0, "scored", None)


def test_the_right_option_may_be_given_in_every_usual_way_and_without_one_it_is_unscored() -> (
    None
):
    animals = {"options": ["a cat", "a dog"]}
    rows: list[tuple[dict[str, Any], str | None]] = [
        ({**animals, "answer": it}, None) for it in (1, "A dog")
    ]
    rows += [
        ({"options": {"a": "a cat", "b": "a dog"}, "answer": "(b)"}, None),
        (animals, "a dog"),
        ({}, "B"),
    ]
    for metadata, target in rows:
        scores = [
            score_of(
                choice, trial(f"The answer is {letter}.", target, metadata=metadata)
            )
            for letter in "BA"
        ]
        assert [score.value for score in scores] == [1, 0]
        assert scores[1].evidence == {"found": "A", "right": "B", "rule": "stated"}
    unusable: list[dict[str, Any]] = [
        {"options": ["x"], "answer": it} for it in ("y", 1, -1)
    ]
    for row in (
        *unusable,
        {},
        {"options": "xy", "answer": "A"},
        {"options": ["x"] * 27, "answer": "A"},
    ):
        assert score_of(choice, trial("A", metadata=row)).status == "unscored"
    scored = trial("B", metadata={"choices": ["x", "y"], "label": 1})
    assert (
        score_of(choice, scored, options_key="choices", answer_key="label").value == 1
    )
