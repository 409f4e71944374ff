from pathlib import Path

import pytest

from mmeval.media import Media
from mmeval.tasks.unim.data.bundles import bundles_of
from tests.support.unim import write_medium


@pytest.mark.parametrize(
    ("names", "bundles"),
    [
        # by their stem
        ("a.obj b.obj b.mtl a.mtl a.png", {"3d1": ["3d4", "3d5"], "3d2": ["3d3"]}),
        # by their place
        (
            "t_01.mtl t_02.obj t_03.jpg t_04.obj t_05.mtl",
            {"3d2": ["3d1", "3d3"], "3d4": ["3d5"]},
        ),
        ("a.off a.ply a.obj", {}),
        ("a.mtl a.jpg", {}),  # without a mesh
    ],
)
def test_materials_and_textures_belong_to_a_mesh(
    tmp_path: Path, names: str, bundles: dict[str, list[str]]
) -> None:
    media = {
        f"3d{at}": Media.from_path(write_medium(tmp_path, name))
        for at, name in enumerate(names.split(), start=1)
    }
    assert bundles_of(media) == bundles
