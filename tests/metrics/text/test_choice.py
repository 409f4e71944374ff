from typing import Any

from mmeval.metrics.text.choice import choice
from tests.support.trials import score_of, trial


def test_an_answer_that_names_several_options_is_wrong_and_counted() -> None:
    labels = {"options": ["a cat", "a dog", "a hot dog"], "answer": "B"}
    score = score_of(choice, trial("B or C", metadata=labels))
    assert score.value == 0
    assert score.evidence == {
        "found": None,
        "right": "B",
        "rule": "line: names B and C",
        "no_option": True,
    }


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
