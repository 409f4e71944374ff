from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.records.digests import call_seed, canonical_json, digest


def test_equal_values_have_one_spelling_whatever_their_order() -> None:
    assert canonical_json({"b": [1, "é"], "a": None}) == b'{"a":null,"b":[1,"\xc3\xa9"]}'
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


@pytest.mark.parametrize(
    ("one", "other"), [([1], ["1"]), ([1, 2], [2, 1]), ([], {}), (None, False), ("a", ["a"]), (1.5, 1.25)], ids=str
)
def test_different_values_have_different_digests(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


def test_a_digest_is_the_same_on_every_machine() -> None:
    assert digest({"a": [1, "é"]}) == "5db14a2cddc92d31365806bb5d82ed2b"


@given(st.text(st.characters()))
def test_every_text_has_a_digest_lone_surrogates_included(text: str) -> None:
    assert len(digest(text)) == 32


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_hold_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest([value])


@given(st.integers(0, 2**64), st.text(max_size=4), st.integers(0, 99), st.integers(0, 9))
def test_a_seed_is_a_small_whole_number_and_depends_on_nothing_else(
    run_seed: int, name: str, repeat: int, occurrence: int
) -> None:
    seed = call_seed(run_seed, name, repeat, occurrence)
    assert 0 <= seed < 2**31
    assert seed == call_seed(run_seed, name, repeat, occurrence)


def test_runs_requests_repeats_and_occurrences_draw_differently() -> None:
    draws = [(0, "a", 0, 0), (1, "a", 0, 0), (0, "b", 0, 0), (0, "a", 1, 0), (0, "a", 0, 1)]
    assert len({call_seed(*draw) for draw in draws}) == len(draws)
