"""Every number of the quality of pictures: it is the documented one, and another one gives another result."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from mmeval.metrics.image.image_quality import image_quality
from mmeval.metrics.image.quality import aggd, niqe, opencv, released_quality, scene_statistics
from tests.support.pictures import noise

NUMBERS: dict[ModuleType, dict[str, tuple[Any, Any]]] = {
    aggd: {"FIRST": (0.2, 0.2004), "LAST": (10.0, 0.7), "STEP": (0.001, 0.0011)},
    scene_statistics: {
        "PATCH": (96, 48),
        "SHIFTS": (((0, 1), (1, 0), (1, 1), (1, -1)), ((0, 1), (1, 0), (1, 1), (1, 1))),
        "REACH": (3, None),
        "SIGMA": (7 / 6, 1.17),
        "STEADY": (1.0, 1.01),
        "RED": (299, 289),
        "GREEN": (587, 597),
        "BLUE": (114, 104),
        "WHOLE": (1000, 1024),
        "SHARP": (-0.5, -0.75),
    },
    niqe: {"FEWEST_PATCHES": (2, 10**6)},
    opencv: {
        "RED": (9798, 9699),
        "GREEN": (19235, 19334),
        "BLUE": (3735, 3933),
        "GREY_BITS": (15, 16),
        "SHARE_BITS": (11, 10),
        "REACH": (3, None),
        "WINDOWS": (
            {
                1.16: ("0x1.8e692155eb036p-7", "0x1.3f3deab9801b2p-4", "0x1.e6a68641759c0p-3", "0x1.60d3f24c6ba65p-2"),
                1.5: ("0x1.2c18a51a3e5e7p-5", "0x1.c7ce552574441p-4", "0x1.bbe4f897eb627p-3", "0x1.152db38ecae3ep-2"),
            },
            {1.16: ("0x1p-6", "0x1p-4", "0x1p-3", "0x1p-2"), 1.5: ("0x1p-5", "0x1p-4", "0x1p-3", "0x1p-2")},
        ),
    },
    released_quality: {
        "FIRST": (0.2, 0.2004),
        "LAST": (10.0, 0.7),
        "STEP": (0.001, 0.0011),
        "SIGMA": (1.16, 1.5),
        "NIQE_SIGMA": (1.5, 1.16),
        "SHIFTS": (((0, 1), (1, 0), (1, 1), (-1, 1)), ((0, 1), (1, 0), (1, 1), (0, 2))),
        "NOTHING": ((1.0, 0.1), (1.0, 0.2)),
        "WORST_BRISQUE": (100.0, 8.0),
        "PER_FEATURE": (20.0, 21.0),
        "DEVIATION": (1.0, 15.0),
        "PATCH": (96, 90),
        "STRIDE": (48, 40),
        "MOST_PATCHES": (100, 3),
        "FLAT": (0.5, 60.0),
        "QUARTILES": ((25, 75), (20, 80)),
        "BEST_NIQE": (0.1, 9.0),
        "WORST_NIQE": (10.0, 0.2),
        "MEANS": ((0.0, 1.0, -0.7, 0.7, 0.8, 3.0, -3.0), (0.1, 1.1, -0.8, 0.6, 0.7, 3.2, -3.1)),
        "DEVIATIONS": ((0.1, 0.5, 0.5, 0.5, 0.3, 1.0, 1.0), (0.2, 0.6, 0.6, 0.6, 0.4, 1.1, 1.1)),
        "WEIGHTS": ((1.0, 2.0, 1.0, 1.0, 1.5, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)),
        "NIQE_SCALE": (1.5, 1.4),
        "DEVIATION_SHARE": (0.5, 0.4),
    },
}
"""The documented value, and another one (none: it is the reach of a window, whose size the code takes for granted)."""
SWITCHES = {"method": "niqe", "worst": 10.0, "short_side": 192, "unreadable": "zero"}
EVEN, ODD = noise(250, 300), noise(193, 197)
BLANK = np.full((40, 40, 3), 9, np.uint8)
TABLES = (aggd.shapes, scene_statistics.window, scene_statistics.halving_kernel, released_quality._tables)


@pytest.fixture
def fresh_tables() -> Iterator[None]:
    yield
    forget()


def forget() -> None:
    for table in TABLES:
        table.cache_clear()


def results() -> list[Any]:
    forget()
    looked_at = [released_quality.released_quality(pixels) for pixels in (EVEN, ODD, BLANK)]
    found = scene_statistics.features(scene_statistics.luma(EVEN))
    return [*looked_at, found.round(9).tolist(), niqe.niqe_of(EVEN) if found.shape[1] == 36 else None]


BEFORE = results()
CASES = [(module, name) for module, numbers in NUMBERS.items() for name in numbers]


def called(case: Any) -> str:
    return case.__name__.rpartition(".")[2] if isinstance(case, ModuleType) else str(case)


@pytest.mark.parametrize(("module", "name"), CASES, ids=called)
def test_a_number_is_the_documented_one(module: ModuleType, name: str) -> None:
    assert getattr(module, name) == NUMBERS[module][name][0]


@pytest.mark.parametrize(
    ("module", "name"), [case for case in CASES if NUMBERS[case[0]][case[1]][1] is not None], ids=called
)
def test_another_number_gives_another_result(
    module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch, fresh_tables: None
) -> None:
    monkeypatch.setattr(module, name, NUMBERS[module][name][1])
    assert results() != BEFORE


def test_each_of_several_numbers_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEANS", "DEVIATIONS", "WEIGHTS"):
        for at in range(7):
            changed = list(getattr(released_quality, name))
            changed[at] += 0.25
            with monkeypatch.context() as patch:
                patch.setattr(released_quality, name, tuple(changed))
                assert released_quality.released_quality(EVEN) != BEFORE[0], (name, at)


def test_the_switches_have_the_documented_defaults() -> None:
    assert image_quality.switches == SWITCHES
    assert image_quality.profiles == {"official": {"method": "released", "unreadable": "unscored"}}
    assert niqe.niqe.switches == {}


def test_the_ranges_are_the_documented_ones() -> None:
    assert (image_quality.range, image_quality.higher_is_better) == ((0, 1), True)
    assert (niqe.niqe.range, niqe.niqe.higher_is_better) == ((0, float("inf")), False)
