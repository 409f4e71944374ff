from mmeval.media.decode import TextBox
from mmeval.metrics.document.boxes import joined_lines


def box(
    left: float, top: float, text: str, *, width: float = 20, height: float = 10
) -> TextBox:
    return TextBox(left, top, left + width, top + height, text)


def test_boxes_are_joined_to_lines_by_their_distance() -> None:
    assert joined_lines(
        [box(30, 2, "there"), box(5, 20, "below"), box(5, 0, "Hello")]
    ) == ["Hello there", "below"]
    gaps = {
        -0.4: "ab",
        0: "ab",
        0.5: "ab",
        0.51: "a b",
        8: "a b",
        8.1: "a  b",
        90: "a  b",
        -0.6: "a b",
    }
    assert {
        gap: joined_lines([box(0, 0, "a"), box(20 + gap, 0, "b")])[0] for gap in gaps
    } == gaps
    assert [
        len(joined_lines([box(0, 0, "a"), box(100, down, "b")])) for down in (4.9, 5)
    ] == [1, 2]
    assert joined_lines(
        [box(0, 0, "wide", width=100), box(10, 0, "x"), box(102, 0, "y")]
    ) == ["wide x y"]
    assert joined_lines([]) == []
