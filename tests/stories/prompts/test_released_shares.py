"""The earlier judge of semantic correctness, which replies with a share."""

from typing import Any

import pytest

from tests.support.judging import answer_trial, judge_unim

TRIAL = answer_trial("A kettle.", captioned_reference="A kettle.")
PROMPT = {
    "name": "semantic_correctness_shares",
    "text": "{{ candidate }} or {{ reference }}",
    "released": "a2a.sc",
    "call": {"reply": "share"},
}


@pytest.mark.parametrize(
    ("said", "profile", "value"),
    [
        ('{"score": 0.6}', "standard", 0.6),
        ('{"score": 0.0}', "standard", 0.0),
        ('{"score": 0.6}', "official", 0.6),
        ('{"score": "0.7"}', "official", 0.6),
        ('{"score": 0.0}', "official", 0.2),
        ('{"score": 7}', "official", 1.0),
        ("I would say 0.8 of it.", "official", 0.8),
    ],
)
def test_the_reply_is_the_share(said: str, profile: str, value: float) -> None:
    switches: dict[str, Any] = {"prompt": PROMPT}
    done = judge_unim("semantic_correctness", TRIAL, said, profile=profile, **switches)
    assert done.score.value == pytest.approx(value)
