from typing import Any

import pytest

from mmeval.media import Interleaved, Part, text_part
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


@pytest.mark.parametrize(
    ("answer", "reference", "switches"),
    [
        ("so 1,185 stand.", "9 + 9\n#### 1185", {"extract": "last_number"}),
        ("$18", "18", {"regexes_to_ignore": [r"\$", ","]}),
        ("18", "a\n#### 18", {"regexes_to_ignore": ["(?s).*#### "]}),
        ("oak 7", "oak ", {"ignore_numbers": True}),
        ("An OAK!", "an oak", {"ignore_case": True, "ignore_punctuation": True}),
    ],
)
def test_the_answer_is_found_in_a_longer_text(
    answer: str, reference: str, switches: dict[str, Any]
) -> None:
    answered = trial(answer, reference)
    assert score_of(exact_match, answered, **switches).value == 1
    assert score_of(exact_match, answered).value == 0


def test_an_answer_in_which_nothing_is_found_scores_0() -> None:
    score = score_of(exact_match, trial("no idea", "9"), extract="last_number")
    assert score.value == 0
    assert score.evidence["answer"] is None


def test_switches_give_the_values_of_lm_evaluation_harness() -> None:
    metrics = pytest.importorskip("lm_eval.api.metrics")
    switches: dict[str, Any] = {
        "regexes_to_ignore": [",", r"\$", "(?s).*#### ", r"\.$"],
        "ignore_case": True,
        "ignore_punctuation": True,
        "ignore_numbers": False,
    }
    pairs = [
        ("$1,200.", "1200"),
        ("A. Oak", "a oak"),
        ("12", "#### 12"),
        ("12.", "13"),
        ("#### 7\n", "7\n"),
    ]
    theirs = [
        metrics.exact_match_hf_evaluate([answer], [reference], **switches)
        for answer, reference in pairs
    ]
    ours = [score_of(exact_match, trial(*pair), **switches) for pair in pairs]
    assert [score.value for score in ours] == [it["exact_match"] for it in theirs]
