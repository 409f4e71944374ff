from mmeval.forecast.text import request_lines, short
from mmeval.media.media import Media
from mmeval.records.request import Request
from mmeval.records.sample import message
from tests.support.toy import picture


def test_rough_counts_are_short() -> None:
    counts = {
        0: "0",
        9_999: "9,999",
        12_345: "12.3 k",
        4_600_000: "4.6 M",
        2e9: "2.0 G",
    }
    assert [short(count) for count in counts] == [*counts.values()]


def test_a_request_is_shown_whole_with_its_media_by_file_type_and_size() -> None:
    large = Media.from_bytes(picture().read(), "hare.png")
    request = Request(
        (
            message("system", "brief\x1b[2J\u202e"),
            message("user", "long " * 1000, large, "\nand then?"),
        )
    )
    shown = f"{'long ' * 1000}<image: hare.png, image/png, {large.size} B>"
    # The words of a data set cannot steer the terminal.
    assert list(request_lines(request)) == [
        "[system]",
        "brief\\x1b[2J\\u202e",
        "[user]",
        shown,
        "and then?",
    ]
