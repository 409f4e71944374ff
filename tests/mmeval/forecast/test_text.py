from __future__ import annotations

import pytest

from mmeval.content.media import Media
from mmeval.forecast.text import request_lines, short
from mmeval.records.request import Request
from mmeval.records.sample import message
from mmeval.wording import size
from tests.support.toy import picture


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (300 * 2**20, "300 MiB"), (5.25 * 2**40, "5.2 TiB")],
)
def test_bytes_are_said_in_the_unit_that_reads_best(count: float, said: str) -> None:
    assert size(count) == said


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0"), (9_999, "9,999"), (12_345, "12.3 k"), (4_600_000, "4.6 M"), (2e9, "2.0 G")]
)
def test_rough_counts_are_short(count: float, said: str) -> None:
    assert short(count) == said


def test_a_request_is_shown_whole_with_its_media_by_file_type_and_size() -> None:
    large = Media.from_bytes(picture().read(), "hare.png")
    request = Request((message("system", "brief"), message("user", "long " * 1000, large, "\nand then?")))
    assert list(request_lines(request)) == [
        "[system]",
        "brief",
        "[user]",
        f"{'long ' * 1000}<image: hare.png, image/png, {large.size} B>",
        "and then?",
    ]


def test_words_of_a_data_set_cannot_steer_the_terminal() -> None:
    request = Request((message("user", "a\x1b[2Jb\u202e"),))
    assert list(request_lines(request))[1] == "a\\x1b[2Jb\\u202e"
