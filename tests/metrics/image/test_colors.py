from typing import Any

from mmeval.metrics.image.colors import COLORS, ColorRule, color_fault, hue
from mmeval.records import Sample

RULE = ColorRule(black_white_distance=38.4, hue_low=0.15, hue_high=0.85)


def test_each_colour_passes_as_itself_black_and_white_by_distance_and_the_others_by_hue() -> (
    None
):
    assert all(RULE.passes(COLORS[name], name, COLORS[name]) for name in COLORS)
    passing = [
        name
        for name, color in COLORS.items()
        if RULE.passes((128, 128, 128), name, color)
    ]
    assert hue((128, 128, 128)) == 0
    assert passing == ["red", "orange"]
    white = [(233, 233, 233), (232, 233, 233)]
    assert [RULE.passes(found, "white", COLORS["white"]) for found in white] == [
        True,
        False,
    ]
    limits = (
        (ColorRule(50, 0.15, 0.85), (30, 40, 0), "black"),
        (ColorRule(38.4, 0.5, 0.85), (0, 255, 255), "red"),
    )
    for rule, at_limit, other in (
        *limits,
        (ColorRule(38.4, 0.15, 0.5), (0, 255, 255), "red"),
    ):
        assert rule.passes(at_limit, other, COLORS[other])


def test_the_table_of_colours_is_the_benchmarks_and_a_label_outside_of_it_has_a_fault() -> (
    None
):
    one = {"green": [0, 128, 0], "blue": [0, 0, 255], "yellow": [255, 255, 0]}
    two = {"cyan": [0, 255, 255]}
    three = {
        "white": [255, 255, 255],
        "black": [0, 0, 0],
        "pink": [255, 128, 255],
        "red": [255, 0, 0],
    }
    assert {
        **one,
        **two,
        **three,
        "orange": [255, 128, 0],
        "purple": [128, 0, 128],
    } == COLORS
    faults: list[tuple[Any, Any, str]] = [
        ("reddish", COLORS, "one of green, blue"),
        (["red"], COLORS, "not ['red']"),
    ]
    faults += [
        ("sky", {"sky": color}, "three numbers")
        for color in ([0, 0], [0, 0, 256], [-1, 0, 0])
    ]
    for label, colors, words in faults:
        assert words in color_fault(
            Sample("s", (), (), {"color": label}), "color", colors
        )
    for label, colors in (("red", COLORS), ("sky", {"sky": [0, 127.5, 255]})):
        assert color_fault(Sample("s", (), (), {"color": label}), "color", colors) == ""
