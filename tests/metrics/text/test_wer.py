import pytest

from mmeval.content import Interleaved
from mmeval.errors import UsageError
from mmeval.metric import bind
from mmeval.metrics.text.wer import wer
from tests.support.trials import score_of, trial


@pytest.mark.parametrize(
    ("answer", "target", "value"),
    [
        ("the old man sat", "the old man sat", 0),
        ("the old men sat", "the old man sat", 1 / 4),
        ("", "the old man sat", 1),
        ("one two three", "one", 2),  # words too many
        ("The OLD man, sat!", "the old man sat", 0),
        ("a b", ["x y", "a c"], 1 / 2),  # the nearest reference
        ("hello  world", ["", "hello world"], 0),  # an empty reference is passed over
        ("the old<<image1>>man", "the old man", 0),
        (Interleaved.from_text("hello <<audio1>> world"), "hello world", 0),
    ],
)
def test_hand_computed_cases(answer: str | Interleaved, target: str | list[str], value: float) -> None:
    assert score_of(wer, trial(answer, target)).value == pytest.approx(value)


def test_without_normalising_case_and_punctuation_count() -> None:
    assert score_of(wer, trial("The man!", "the man"), normalise="none").value == 1


def test_evidence_counts_the_kinds_of_error() -> None:
    errors = {"substitutions": 1, "deletions": 0, "insertions": 1}
    assert score_of(wer, trial("a x c d", "a b c")).evidence == {**errors, "answer": "a x c d", "reference": "a b c"}


@pytest.mark.parametrize("target", ["", " ?! ", ["", "..."]])
def test_a_reference_without_words_is_undefined_and_not_zero(target: str | list[str]) -> None:
    score = score_of(wer, trial("words", target))
    assert (score.value, score.status) == (None, "unscored")


def test_an_unknown_normaliser_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="basic or none"):
        bind(wer, {"normalise": "basics"})
