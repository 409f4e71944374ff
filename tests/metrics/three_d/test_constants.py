"""Each number of ``quality_3d``, as the released specification and this metric's
documentation have it."""

from importlib import import_module

from mmeval.metrics.three_d import geometry
from tests.support.constants import defined, documented

DOCUMENTED = """
cloud_terms: BENT=0.08 FAR_QUANTILE=95.0 FLAT=0.02 FOR_GEOMETRY=32 FOR_SAMPLING=16 FOR_TOPOLOGY=8
cloud_terms: GEOMETRY=(0.45,0.35,0.20) SAMPLING=(0.50,0.25,0.25) SHARP=pi/6 SURFACE=2.0 TOPOLOGY=(0.45,0.35,0.20)
crossings: CLEAR=1e-9 MOST_FACES=1000 MOST_PAIRS=1_000_000
geometry: MAX_AT_ONE_PLACE=10_000 MAX_FACES=1_000_000 MAX_POINTS=500_000 MAX_VERTICES=2_000_000
mesh_terms: GEOMETRY=(0.40,0.30,0.30) MOST_COMPONENTS=4 NEIGHBOURS=8 SAMPLES=5000 SAMPLING=(0.40,0.25,0.20,0.15)
mesh_terms: SHARP=pi/3 TOPOLOGY=(0.35,0.25,0.20,0.20) TRIANGLES={"released":2*sqrt(3),"equilateral":4*sqrt(3)}
neighbourhoods: AGREEMENT=12 COARSE=64 DIMENSION=20 DIMENSIONS=(1.0,5.0) FINE=16 FLATNESS=32 NORMAL=24
neighbourhoods: SMALLEST_DISTANCE=1e-12 SMALLEST_SCATTER=1e-12 SPACING=8
quality_3d: WEIGHTS={"released":(0.3,0.4,0.3),"paper":(1/3,1/3,1/3)}
spread: FAR=2.5 FEWEST=4 QUARTILES=(25,50,75) SMALLEST_MEDIAN=1e-12
surface: SMALLEST_CROSS=100*2.220446049250313e-16 SMALLEST_SQUARES=1e-12
"""


def test_every_constant_has_its_documented_value() -> None:
    modules = [
        import_module(f"mmeval.metrics.three_d.{name}")
        for name in documented(DOCUMENTED)
    ]
    left_out = {
        "PLY",
        "LIMITS",
        *(name for module in modules for name in vars(module) if name.startswith("_")),
    }
    assert defined(modules, left_out) == documented(DOCUMENTED)
    assert geometry.LIMITS.max_mesh_faces == 1_000_000
    assert geometry.LIMITS.max_mesh_vertices == 2_000_000
