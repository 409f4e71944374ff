from typing import Any

import pytest

from mmeval.media import Interleaved
from mmeval.metric import bind
from mmeval.metrics.text.word_accuracy import Blanks, Unit, accuracy_of, word_accuracy
from mmeval.records import Score
from tests.support.trials import score_of, trial


def score(
    answer: Any, wanted: Any, profile: str = "standard", **switches: Any
) -> Score:
    return score_of(
        word_accuracy, trial(answer, metadata={"text": wanted}), profile, **switches
    )


def test_hand_computed_cases_of_texts_and_of_lines_of_which_the_last_takes_the_rest() -> (
    None
):
    values: dict[tuple[str, str], float] = {
        ("hello", "Hello!"): 1,
        ("", ""): 1,
        ("something", ""): 0,
        ("", "something"): 0,
        ("b a", "a b"): 0,
    }
    values |= {
        ("the old men sat", "the old man sat"): 3 / 4,
        ("one two three four", "one"): 0,
    }
    values |= {("Straße", "STRASSE"): 0}
    assert {case: score(*case).value for case in values} == pytest.approx(values)
    answer = Interleaved.from_text("the old<<audio1>>man <<code1>>", {"code1": "sat"})
    assert score(answer, "the old man").value == 1
    wanted = {"door": "Mind the wet, paint", "window": "fresh rye bread rolls daily"}
    found = score("mind the wet paint\nfresh bread daily", wanted)
    assert found.value == pytest.approx(7 / 9)
    assert found.evidence["errors"] == 2
    assert found.evidence["length"] == 9
    lines = {
        "a": ["a", "<none>"],
        "a\nb": ["a", "b"],
        "a\nb\nc": ["a", "b c"],
        "": ["<none>", "<none>"],
    }
    assert {
        answer: score(answer, ["a", "b"]).evidence["found"] for answer in lines
    } == lines


def test_characters_are_compared_where_there_are_no_words_and_commas_are_errors_in_the_release() -> (
    None
):
    values = {"梦": 1 / 2, "想梦": 0, "": 0, "梦想家": 1 / 2}
    found = {
        read: score(read, "梦想", normalise="none", unit="character").value
        for read in values
    }
    assert found == pytest.approx(values)
    said = "傍晚的湖面，夕阳的余晖。"
    both = [
        score(said, said, name, normalise="speech", unit="character").value
        for name in ("standard", "official")
    ]
    assert both == [1, pytest.approx(1 - 1 / 10)]
    assert score("", "Something was said", normalise="speech").value == 0
    assert score("a bc", "ab c", unit="character").value == 1
    words = accuracy_of([("a b c", "a  x\nc\td")], normalise="none")
    assert words.errors == 2
    assert words.length == 4


@pytest.mark.parametrize(
    ("blanks", "errors", "length"),
    [("drop", 1, 3), ("drop_wanted", 2, 3), ("keep", 2, 5)],
)
def test_blanks_may_count_and_an_empty_text_is_undefined(
    blanks: Blanks, errors: int, length: int
) -> None:
    found = accuracy_of(
        [("a b", "a b c")], normalise="none", unit="character", blanks=blanks
    )
    assert found.errors == errors
    assert found.length == length
    units: tuple[Unit, ...] = ("word", "character")
    for unit in units:
        none = score("words", "", normalise="none", unit=unit, blanks=blanks)
        assert none.status == "unscored"
        assert none.evidence["length"] == 0


def test_the_wanted_text_is_the_label_else_the_reference_and_no_text_is_found_before_the_run() -> (
    None
):
    labels: list[Any] = [3, [], {"a": None}]
    for wanted in labels:
        fault = bind(word_accuracy).sample_fault(
            trial("a", metadata={"text": wanted}).sample
        )
        assert score("a", wanted).status == "unscored"
        assert score("a", wanted).reason == fault
        assert "'text'" in fault
    labelled = trial("a", "b", metadata={"text": "a"})
    assert [
        score_of(word_accuracy, labelled, target_key=key).value
        for key in ("text", "other")
    ] == [1, 0]
    assert (
        score_of(word_accuracy, trial("a")).status
        == score_of(word_accuracy, trial(None, "a")).status
        == "unscored"
    )
    assert [
        score("Hello, you", "hello you", normalise=it).value
        for it in ("speech", "none")
    ] == [1, 0.5]
