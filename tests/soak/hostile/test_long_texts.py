"""Texts made to be slow: reading them takes time linear in their length, else they reach the limit of a test."""

from typing import Any

import pytest

from mmeval.metric.contract import load_metric
from mmeval.metrics.judged.code_quality import unwrapped
from mmeval.metrics.text.choice import find_choice
from mmeval.metrics.text.constraints import all_met, constraints_of
from mmeval.metrics.text.words import count_words
from tests.support.picture_judging import trial_of
from tests.support.trials import score_of

ANIMALS = {"A": "a cat", "B": "a dog", "C": "a hot dog", "D": "an owl"}
LISTED = ("Answer: B, ", "B or ", "not the answer is ")


@pytest.mark.parametrize("noise", ["the answer is ", "\n", " \n", "(", "A is ", "option ", "not ", *LISTED])
def test_a_choice(noise: str) -> None:
    assert find_choice("x" + noise * 50_000 + "\nAnswer: B", ANIMALS).letter == "B"


def test_constraints() -> None:
    label = [["length_word", "== 400000"], ["keyword_count", "word", "== 400000"]]
    assert all_met("word " * 400_000, constraints_of(label)).met


@pytest.mark.parametrize("noise", ["'", "''", ". ", "a.", "n't ", "`", '"', ": ", "can", "'s' ", "-", "more'n"])
def test_words(noise: str) -> None:
    assert count_words("word " + noise * 100_000) >= 1


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("piece", ["{", "}", '["', "<text>", "<count>1", "<<", "{}", "[]\n", '{"a":', "<image_start>"])
def test_a_self_description(piece: str, profile: str) -> None:
    labels: dict[str, Any] = {"object": ["cup", "rug"], "color": ["red", "blue"]}
    trial = trial_of(piece * (1_000_000 // len(piece)), **labels)
    for kind in ("count", "text", "colors", "sizes", "letters", "pattern", "words"):
        assert score_of(load_metric("self_description"), trial, profile, kind=kind).status == "scored"


@pytest.mark.parametrize(
    "code", ["```" + " " * 300_000, "`" * 300_000, "```\n" + "``` \n" * 99_999], ids=["blanks", "run", "lines"]
)
def test_code_in_fences(code: str) -> None:
    assert unwrapped(code) == (code, "")
