from types import ModuleType
from typing import Any

from mmeval.metrics.image.image_quality import image_quality
from mmeval.metrics.image.quality import aggd, niqe, opencv, released_quality, scene_statistics

WIDE = ("0x1.2c18a51a3e5e7p-5", "0x1.c7ce552574441p-4", "0x1.bbe4f897eb627p-3", "0x1.152db38ecae3ep-2")
NARROW = ("0x1.8e692155eb036p-7", "0x1.3f3deab9801b2p-4", "0x1.e6a68641759c0p-3", "0x1.60d3f24c6ba65p-2")
SHAPES = {"FIRST": 0.2, "LAST": 10.0, "STEP": 0.001}
BRISQUE = {"SIGMA": 1.16, "NOTHING": (1.0, 0.1), "WORST_BRISQUE": 100.0, "PER_FEATURE": 20.0, "DEVIATION": 1.0}
PATCHES = {"PATCH": 96, "STRIDE": 48, "MOST_PATCHES": 100, "FLAT": 0.5, "QUARTILES": (25, 75), "NIQE_SIGMA": 1.5}
STAND_IN = {"BEST_NIQE": 0.1, "WORST_NIQE": 10.0, "NIQE_SCALE": 1.5, "DEVIATION_SHARE": 0.5}
NUMBERS: dict[ModuleType, dict[str, Any]] = {
    aggd: SHAPES,
    scene_statistics: {
        **{"PATCH": 96, "SHIFTS": ((0, 1), (1, 0), (1, 1), (1, -1)), "REACH": 3, "SIGMA": 7 / 6, "STEADY": 1.0},
        **{"RED": 299, "GREEN": 587, "BLUE": 114, "WHOLE": 1000, "SHARP": -0.5},
    },
    niqe: {"FEWEST_PATCHES": 2},
    opencv: {
        **{"RED": 9798, "GREEN": 19235, "BLUE": 3735, "GREY_BITS": 15, "SHARE_BITS": 11, "REACH": 3},
        "WINDOWS": {1.16: NARROW, 1.5: WIDE},
    },
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


def test_the_numbers_switches_and_ranges_are_the_documented_ones() -> None:
    assert {module: {name: getattr(module, name) for name in names} for module, names in NUMBERS.items()} == NUMBERS
    switches = {"method": "niqe", "worst": 10.0, "short_side": 192, "unreadable": "zero"}
    assert (image_quality.switches, niqe.niqe.switches) == (switches, {})
    assert image_quality.profiles == {"official": {"method": "released", "unreadable": "unscored"}}
    assert (image_quality.range, image_quality.higher_is_better) == ((0, 1), True)
    assert (niqe.niqe.range, niqe.niqe.higher_is_better) == ((0, float("inf")), False)
