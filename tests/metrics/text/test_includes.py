import pytest

from mmeval.metric import bind
from mmeval.metrics.text.includes import includes
from tests.support.trials import score_of, trial


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("The capital of France is Paris.", "Paris", 1),
        ("the capital is PARIS", "Paris", 1),
        ("It is in New\n York", "new york", 1),
        ("Berlin", "Paris", 0),
        ("", "Paris", 0),
        ("ashes", "ash", 0),
        ("首都是巴黎。", "巴黎", 1),
        ("答案是Paris。", "Paris", 1),
        ("about 3.5", "3", 0),
        ("-3", "3", 0),
        ("it is 3.", "3", 1),
        ("(B)", "(B)", 1),
    ],
)
def test_an_answer_includes_a_reference_as_whole_words(
    answer: str, reference: str, value: int
) -> None:
    assert score_of(includes, trial(answer, reference)).value == value


def test_letters_count_as_written_where_case_is_not_ignored() -> None:
    answered = trial("paris", "Paris")
    assert score_of(includes, answered, ignore_case=False).value == 0


def test_a_reference_may_stand_inside_a_word_where_words_are_not_whole() -> None:
    answered = trial("ashes", "ash")
    assert score_of(includes, answered, whole_words=False).value == 1


def test_one_of_several_references_is_enough() -> None:
    score = score_of(includes, trial("It is an oak.", ["ash", "oak"]))
    assert score.evidence == {"included": ["oak"]}


def test_an_empty_reference_leaves_the_answer_unscored_and_is_known_before_the_run() -> (
    None
):
    answered = trial("anything", "")
    score = score_of(includes, answered)
    assert score.status == "unscored"
    assert bind(includes).sample_fault(answered.sample) == score.reason


def test_an_answer_without_references_is_unscored() -> None:
    assert score_of(includes, trial("anything")).status == "unscored"
