from typing import Any

import pytest

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


@pytest.mark.parametrize("text", ["", "é", "\ud800", "\U0010ffff"], ids=ascii)
def test_every_text_has_a_digest_lone_surrogates_included(text: str) -> None:
    assert len(digest(text)) == 32


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_hold_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        digest([value])


def test_seeds_are_small_whole_numbers_that_differ_by_run_request_repeat_and_occurrence() -> None:
    draws = [(0, "a", 0, 0), (1, "a", 0, 0), (0, "b", 0, 0), (0, "a", 1, 0), (0, "a", 0, 1), (2**64, "", 99, 9)]
    seeds = [call_seed(*draw) for draw in draws]
    assert len(set(seeds)) == len(draws)
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert call_seed(0, "a", 1, 0) == call_seed(0, "a", 1) == seeds[3]
