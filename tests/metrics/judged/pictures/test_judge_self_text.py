from __future__ import annotations

import pytest

from mmeval.records.trial import Trial
from tests.support.picture_judging import LOST, RED, answer, judged, trial_of


def says(claim: str) -> Trial:
    return trial_of(f"<image_start><image_0><image_end>{claim}", RED, object="the board")


def test_what_was_read_is_compared_with_what_the_answer_says() -> None:
    done = judged("judge_self_text", says("<text>One two, three four five</text>"), answer(["one two", "three four"]))

    assert (done.score.value, done.score.evidence["claimed"]) == (0.8, "One two, three four five")
    assert "written on the board, and nowhere else" in done.questions[0]


@pytest.mark.parametrize(
    "claim",
    ["<text>one two three four</text>", f"<text>{'a ' * 10}a</text>", "one two three", "<text>a b\nc d e</text>"],
)
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_claim_of_too_few_or_too_many_words_is_0_and_nobody_is_asked(claim: str, profile: str) -> None:
    done = judged("judge_self_text", says(claim), "[]", profile)

    assert (done.score.value, done.calls) == (0.0, [])


def test_the_release_counts_pieces_between_single_blanks() -> None:
    four = says("<text>one two  three four</text>")
    read = '["one two three four"]'

    assert judged("judge_self_text", four, read).calls == []
    assert judged("judge_self_text", four, read, "official").score.value == 1.0


def test_the_wanted_length_is_a_switch() -> None:
    assert judged("judge_self_text", says("<text>a b</text>"), '["a b"]', least=2).score.value == 1.0
    assert judged("judge_self_text", says("<text>a b c d e f</text>"), '["a b"]', most=5).calls == []


def test_a_lost_reply_is_unscored_and_wrong_for_the_release() -> None:
    claim = says("<text>a b c d e</text>")

    assert judged("judge_self_text", claim, {"": LOST}).score.bounds == (0.0, 1.0)
    assert judged("judge_self_text", claim, {"": LOST}, "official").score.value == 0.0


def test_a_row_that_does_not_say_where_to_read_is_unscored() -> None:
    assert judged("judge_self_text", trial_of("<text>a b c d e</text>", RED), "[]").score.status == "unscored"
