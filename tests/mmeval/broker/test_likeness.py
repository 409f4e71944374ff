from __future__ import annotations

from dataclasses import replace

import pytest

from mmeval.broker.batcher import MEDIUM_WEIGHT, least_padded, length, likeness
from tests.support.toy import picture, request


def test_a_request_is_as_long_as_its_words_and_a_medium_counts_for_many() -> None:
    assert (length(request("four")), length(request("four", picture()))) == (4, 4 + MEDIUM_WEIGHT)


def test_requests_are_alike_that_want_the_same_by_the_same_parameters() -> None:
    one, other = request("a", temperature=0.5, options={"image.size": "1x1"}), request("b", temperature=0.5)
    assert likeness(other) == likeness(request("c", temperature=0.5)) != likeness(one)
    assert likeness(replace(other, wants=("image",))) != likeness(other)


@pytest.mark.parametrize(
    ("lengths", "wanted", "count", "begin"),
    [
        ([1, 1, 1, 9, 9], 2, 3, 0),
        ([1, 1, 8, 9, 9], 2, 3, 2),
        ([1, 2, 3], 0, 2, 0),
        ([1, 2, 3], 2, 2, 1),
        ([5], 0, 4, 0),
        ([1, 9], 1, 4, 0),
    ],
)
def test_a_slice_holds_who_is_wanted_and_needs_the_least_padding(
    lengths: list[int], wanted: int, count: int, begin: int
) -> None:
    assert least_padded(lengths, wanted, count) == begin
