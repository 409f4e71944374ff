from __future__ import annotations

import pytest

from mmeval.content.media import Media
from mmeval.forecast.text import request_lines, short
from mmeval.records.request import Request
from mmeval.records.sample import message
from mmeval.wording import size
from tests.support.toy import picture


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (300 * 2**20, "300 MiB"), (5.25 * 2**40, "5.2 TiB")],
)
def test_bytes_are_in_the_unit_that_reads_best(count: float, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (9_999, "9,999"), (12_345, "12.3 k"), (4_600_000, "4.6 M"), (2e9, "2.0 G")]
)
def test_rough_counts_are_short(count: float, text: str) -> None:
    assert short(count) == text


def test_a_request_is_shown_whole_with_its_media_by_file_type_and_size() -> None:
    large = Media.from_bytes(picture().read(), "hare.png")
    request = Request((message("system", "brief\x1b[2J\u202e"), message("user", "long " * 1000, large, "\nand then?")))
    shown = f"{'long ' * 1000}<image: hare.png, image/png, {large.size} B>"
    # The words of a data set cannot steer the terminal.
    assert list(request_lines(request)) == ["[system]", "brief\\x1b[2J\\u202e", "[user]", shown, "and then?"]
