from types import ModuleType
from typing import Any

from mmeval.metrics.image.image_quality import image_quality
from mmeval.metrics.image.quality import aggd, niqe, released_quality, scene_statistics

SHAPES = {"FIRST": 0.2, "LAST": 10.0, "STEP": 0.001}
BRISQUE = {
    "SIGMA": 1.16,
    "NOTHING": (1.0, 0.1),
    "WORST_BRISQUE": 100.0,
    "PER_FEATURE": 20.0,
    "DEVIATION": 1.0,
}
PATCHES = {
    "PATCH": 96,
    "STRIDE": 48,
    "MOST_PATCHES": 100,
    "FLAT": 0.5,
    "QUARTILES": (25, 75),
    "NIQE_SIGMA": 1.5,
}
STAND_IN = {
    "BEST_NIQE": 0.1,
    "WORST_NIQE": 10.0,
    "NIQE_SCALE": 1.5,
    "DEVIATION_SHARE": 0.5,
}
NUMBERS: dict[ModuleType, dict[str, Any]] = {
    aggd: SHAPES,
    scene_statistics: {
        **{
            "PATCH": 96,
            "SHIFTS": ((0, 1), (1, 0), (1, 1), (1, -1)),
            "REACH": 3,
            "SIGMA": 7 / 6,
            "STEADY": 1.0,
        },
        **{"RED": 299, "GREEN": 587, "BLUE": 114, "WHOLE": 1000, "SHARP": -0.5},
    },
    niqe: {"FEWEST_PATCHES": 2},
    released_quality: {
        **SHAPES,
        **BRISQUE,
        **PATCHES,
        **STAND_IN,
        "SHIFTS": ((0, 1), (1, 0), (1, 1), (-1, 1)),
        "MEANS": (0.0, 1.0, -0.7, 0.7, 0.8, 3.0, -3.0),
        "DEVIATIONS": (0.1, 0.5, 0.5, 0.5, 0.3, 1.0, 1.0),
        "WEIGHTS": (1.0, 2.0, 1.0, 1.0, 1.5, 1.0, 1.0),
    },
}


def test_the_numbers_and_ranges_are_the_documented_ones() -> None:
    assert {
        module: {name: getattr(module, name) for name in names}
        for module, names in NUMBERS.items()
    } == NUMBERS
    assert image_quality.range == (0, 1)
    assert image_quality.higher_is_better is True
    assert niqe.niqe.range == (0, float("inf"))
    assert niqe.niqe.higher_is_better is False
