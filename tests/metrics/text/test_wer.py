import pytest

from mmeval.content import Interleaved
from mmeval.metrics.text.wer import wer
from tests.support.trials import score_of, trial


@pytest.mark.parametrize(
    ("answer", "target", "value"),
    [
        ("the old men sat", "the old man sat", 1 / 4),
        ("", "the old man sat", 1),
        ("one two three", "one", 2),  # words too many
        ("The OLD man, sat!", "the old man sat", 0),
        ("a b", ["x y", "a c"], 1 / 2),  # the nearest reference
        ("hello  world", ["", "hello world"], 0),  # an empty reference is passed over
        (Interleaved.from_text("hello <<audio1>> world"), "hello world", 0),
    ],
)
def test_hand_computed_cases(answer: str | Interleaved, target: str | list[str], value: float) -> None:
    assert score_of(wer, trial(answer, target)).value == pytest.approx(value)


def test_evidence_counts_the_errors_and_a_reference_without_words_is_undefined() -> None:
    errors = {"substitutions": 1, "deletions": 0, "insertions": 1}
    assert score_of(wer, trial("a x c d", "a b c")).evidence == {**errors, "answer": "a x c d", "reference": "a b c"}
    score = score_of(wer, trial("words", ["", "..."]))
    assert (score.value, score.status) == (None, "unscored")
    assert score_of(wer, trial("The man!", "the man"), normalise="none").value == 1
