from typing import Any

from mmeval.content import Interleaved, Part, text_part
from mmeval.metrics.text.exact_match import exact_match
from tests.support.trials import score_of, trial


def test_texts_are_compared_as_the_switches_say() -> None:
    same: list[tuple[str, dict[str, Any]]] = [
        ("Paris", {}),
        (" Paris\n", {}),
        ("PARIS", {"ignore_case": True}),
        ("Paris.", {"ignore_punctuation": True}),
    ]
    other: list[tuple[str, dict[str, Any]]] = [
        (" Paris\n", {"strip": False}),
        ("paris", {}),
        ("Paris.", {}),
    ]
    for cases, value in ((same, 1), (other, 0)):
        assert [
            score_of(exact_match, trial(text, "Paris"), **it).value
            for text, it in cases
        ] == [value] * len(cases)
    assert (
        score_of(exact_match, trial("STRASSE", "straße"), ignore_case=True).value == 1
    )
    for target, text in ((["Rome", "Paris"], "Paris"), ("", "")):
        assert score_of(exact_match, trial(text, target)).value == 1


def test_hidden_reasoning_is_left_out_and_without_references_it_is_unscored() -> None:
    answer = Interleaved(
        (
            Part("reasoning", text="Rome?", raw="<think>Rome?</think>"),
            text_part("Paris"),
        )
    )
    assert score_of(exact_match, trial(answer, "Paris")).value == 1
    assert score_of(exact_match, trial("a")).status == "unscored"
