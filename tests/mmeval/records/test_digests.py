import pytest

from mmeval.records.digests import call_seed, canonical_json, digest


def test_equal_values_have_one_digest_on_every_machine_whatever_their_order() -> None:
    assert (
        canonical_json({"b": [1, "é"], "a": None}) == b'{"a":null,"b":[1,"\xc3\xa9"]}'
    )
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": [1, "é"]}) == "5db14a2cddc92d31365806bb5d82ed2b"
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="JSON"):
            digest([value])


def test_seeds_are_small_whole_numbers_that_differ_by_run_request_repeat_and_occurrence() -> (
    None
):
    draws = [
        (0, "a", 0, 0),
        (1, "a", 0, 0),
        (0, "b", 0, 0),
        (0, "a", 1, 0),
        (0, "a", 0, 1),
        (2**64, "", 99, 9),
    ]
    seeds = [call_seed(*draw) for draw in draws]
    assert len(set(seeds)) == len(draws)
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert call_seed(0, "a", 1, 0) == call_seed(0, "a", 1) == seeds[3]
