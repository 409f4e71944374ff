"""The mutation check of ``quality_3d``: each constant has its documented value, and another one changes some item.

A constant of its modules that is not listed here fails.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from mmeval.content.parts import Interleaved
from mmeval.metrics.three_d import (
    cloud_terms,
    crossings,
    geometry,
    mesh_terms,
    neighbourhoods,
    quality_3d,
    spread,
    surface,
)
from tests.support.shapes import ball, joined, off, ply, shown, sphere_cloud, tetrahedra, torus
from tests.support.trials import score_of

MODULES = (cloud_terms, crossings, geometry, mesh_terms, neighbourhoods, quality_3d, spread, surface)
DOCUMENTED: dict[str, Any] = {
    "cloud_terms.BENT": 0.08,
    "cloud_terms.FAR_QUANTILE": 95.0,
    "cloud_terms.FLAT": 0.02,
    "cloud_terms.FOR_GEOMETRY": 32,
    "cloud_terms.FOR_SAMPLING": 16,
    "cloud_terms.FOR_TOPOLOGY": 8,
    "cloud_terms.GEOMETRY": (0.45, 0.35, 0.20),
    "cloud_terms.SAMPLING": (0.50, 0.25, 0.25),
    "cloud_terms.SHARP": math.pi / 6,
    "cloud_terms.SURFACE": 2.0,
    "cloud_terms.TOPOLOGY": (0.45, 0.35, 0.20),
    "crossings.CLEAR": 1e-9,
    "crossings.MOST_FACES": 1000,
    "crossings.MOST_PAIRS": 1_000_000,
    "geometry.MAX_AT_ONE_PLACE": 10_000,
    "geometry.MAX_FACES": 1_000_000,
    "geometry.MAX_POINTS": 500_000,
    "geometry.MAX_VERTICES": 2_000_000,
    "mesh_terms.GEOMETRY": (0.40, 0.30, 0.30),
    "mesh_terms.MOST_COMPONENTS": 4,
    "mesh_terms.NEIGHBOURS": 8,
    "mesh_terms.SAMPLES": 5000,
    "mesh_terms.SAMPLING": (0.40, 0.25, 0.20, 0.15),
    "mesh_terms.SHARP": math.pi / 3,
    "mesh_terms.TOPOLOGY": (0.35, 0.25, 0.20, 0.20),
    "mesh_terms.TRIANGLES": {"released": 2 * math.sqrt(3), "equilateral": 4 * math.sqrt(3)},
    "neighbourhoods.AGREEMENT": 12,
    "neighbourhoods.COARSE": 64,
    "neighbourhoods.DIMENSION": 20,
    "neighbourhoods.DIMENSIONS": (1.0, 5.0),
    "neighbourhoods.FINE": 16,
    "neighbourhoods.FLATNESS": 32,
    "neighbourhoods.NORMAL": 24,
    "neighbourhoods.SMALLEST_DISTANCE": 1e-12,
    "neighbourhoods.SMALLEST_SCATTER": 1e-12,
    "neighbourhoods.SPACING": 8,
    "quality_3d.WEIGHTS": {"released": (0.3, 0.4, 0.3), "paper": (1 / 3, 1 / 3, 1 / 3)},
    "spread.FAR": 2.5,
    "spread.FEWEST": 4,
    "spread.QUARTILES": (25, 50, 75),
    "spread.SMALLEST_MEDIAN": 1e-12,
    "surface.SMALLEST_CROSS": 100 * np.finfo(float).eps,
    "surface.SMALLEST_SQUARES": 1e-12,
}
"""As the specification of the released scorer and this metric's documentation have them."""
CHANGES: dict[str, Any] = {
    "cloud_terms.BENT": 0.09,
    "cloud_terms.FAR_QUANTILE": 94.0,
    "cloud_terms.FLAT": 0.03,
    "cloud_terms.FOR_GEOMETRY": 36,
    "cloud_terms.FOR_SAMPLING": 18,
    "cloud_terms.FOR_TOPOLOGY": 15,
    "cloud_terms.SHARP": math.radians(31),
    "cloud_terms.SURFACE": 2.1,
    "mesh_terms.MOST_COMPONENTS": 5,
    "mesh_terms.NEIGHBOURS": 9,
    "mesh_terms.SAMPLES": 4990,
    "mesh_terms.SHARP": math.radians(61),
    "mesh_terms.TRIANGLES": {"released": 3.5, "equilateral": 7.0},
    "neighbourhoods.AGREEMENT": 13,
    "neighbourhoods.COARSE": 56,
    "neighbourhoods.DIMENSION": 19,
    "neighbourhoods.DIMENSIONS": (1.3, 5.0),
    "neighbourhoods.FINE": 15,
    "neighbourhoods.FLATNESS": 30,
    "neighbourhoods.NORMAL": 23,
    "neighbourhoods.SPACING": 7,
    "spread.FAR": 2.4,
    "spread.FEWEST": 5,
    "spread.QUARTILES": (26, 50, 75),
}
"""Another value of each that is seen in a score. The others are limits, which the tests of their modules reach, and
what keeps a division from zero."""
WEIGHTS = [
    f"{module}.{name}.{at}"
    for module, name in (
        *(("cloud_terms", term) for term in ("TOPOLOGY", "GEOMETRY", "SAMPLING")),
        *(("mesh_terms", term) for term in ("TOPOLOGY", "GEOMETRY", "SAMPLING")),
    )
    for at in range(len(DOCUMENTED[f"{module}.{name}"]))
]


class Place(NamedTuple):
    module: Any
    name: str


def place(written: str) -> Place:
    module, name = written.split(".")
    return Place(next(each for each in MODULES if each.__name__.endswith(f".{module}")), name)


@cache
def zoo() -> Interleaved:
    """Items on which each constant has an effect: solids with noise, a cut and other parts, clouds of several sizes."""
    rng = np.random.default_rng(4)
    points, faces = joined(ball(2), tetrahedra((0.9, 0.1, 0.2), (4, 0, 0)))
    solid = points + 0.02 * rng.normal(size=points.shape)
    four = (rng.random((4, 3)), np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]]))
    clouds = [sphere_cloud(count) + 0.12 * rng.normal(size=(count, 3)) for count in (300, 34, 17, 14)]
    ring, sides = torus(30, 6)  # six sides: angles near 60 degrees
    open_ring = (ring + 0.02 * rng.normal(size=ring.shape), sides[3:])
    output = shown(off((solid, faces)), off(four), off(open_ring), *map(ply, clouds)).output
    assert output is not None
    return output


def seen() -> list[Any]:
    """Qualities and measures of all items in both profiles, decoded anew from the same bytes."""
    files = [media.read() for media in zoo().media("3d")]
    return [
        score_of(quality_3d.quality_3d, shown(*files), profile, rounding="none").evidence["items"]
        for profile in ("standard", "official")
    ]


@cache
def unchanged() -> list[Any]:
    return seen()


def test_every_constant_has_its_documented_value() -> None:
    found = {
        f"{module.__name__.rpartition('.')[2]}.{name}": value
        for module in MODULES
        for name, value in vars(module).items()
        if name.isupper() and not name.startswith("_") and name not in ("TYPE_CHECKING", "PLY", "LIMITS")
    }
    own = {name: value for name, value in found.items() if name in DOCUMENTED or name.split(".")[1] not in IMPORTED}

    assert own == DOCUMENTED


IMPORTED = {
    "FOR_TOPOLOGY",
    "AGREEMENT",
    "FLATNESS",
    "MAX_AT_ONE_PLACE",
    "DEFAULT_LIMITS",
    "ON_DIAGONAL",
    "OFF_DIAGONAL",
}
"""What a module takes from another, where it is listed."""


@pytest.mark.parametrize("constant", CHANGES)
def test_another_value_changes_some_item(constant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = unchanged()
    monkeypatch.setattr(*place(constant), CHANGES[constant])

    assert seen() != before


@pytest.mark.parametrize("weight", WEIGHTS)
def test_another_weight_changes_some_item(weight: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = unchanged()
    constant, _, at = weight.rpartition(".")
    weights = list(DOCUMENTED[constant])
    weights[int(at)] -= 0.01
    monkeypatch.setattr(*place(constant), tuple(weights))

    assert seen() != before
