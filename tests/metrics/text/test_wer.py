import pytest

from mmeval.media import Interleaved
from mmeval.metrics.text.wer import wer
from tests.support.trials import score_of, trial


def test_hand_computed_cases_and_their_evidence() -> None:
    sat = "the old man sat"
    rates = {
        ("the old men sat", sat): 1 / 4,
        ("", sat): 1,
        ("The OLD man, sat!", sat): 0,
    }
    rates |= {("one two three", "one"): 2}  # words too many
    assert {case: score_of(wer, trial(*case)).value for case in rates} == pytest.approx(
        rates
    )
    # the nearest reference
    assert score_of(wer, trial("a b", ["x y", "a c"])).value == 1 / 2
    # an empty one is passed over
    assert score_of(wer, trial("hello  world", ["", "hello world"])).value == 0
    assert (
        score_of(
            wer, trial(Interleaved.from_text("hello <<audio1>> world"), "hello world")
        ).value
        == 0
    )
    errors = {"substitutions": 1, "deletions": 0, "insertions": 1}
    assert score_of(wer, trial("a x c d", "a b c")).evidence == {
        **errors,
        "answer": "a x c d",
        "reference": "a b c",
    }
    score = score_of(wer, trial("words", ["", "..."]))
    assert score.status == "unscored"
    assert score_of(wer, trial("The man!", "the man"), normalise="none").value == 1
