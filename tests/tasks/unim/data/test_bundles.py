from pathlib import Path

from mmeval.content.media import Media
from mmeval.tasks.unim.data.bundles import bundles_of
from tests.support.unim_folder import write_medium


def shapes(folder: Path, *names: str) -> dict[str, Media]:
    return {f"3d{at}": Media.from_path(write_medium(folder, name)) for at, name in enumerate(names, start=1)}


def test_what_has_the_stem_of_a_mesh_belongs_to_it(tmp_path: Path) -> None:
    given = shapes(tmp_path, "a.obj", "b.obj", "b.mtl", "a.mtl", "a.png")

    assert bundles_of(given) == {"3d1": ["3d4", "3d5"], "3d2": ["3d3"]}


def test_without_a_stem_in_common_it_belongs_to_the_mesh_before_it(tmp_path: Path) -> None:
    given = shapes(tmp_path, "t_01.mtl", "t_02.obj", "t_03.jpg", "t_04.obj", "t_05.mtl")

    assert bundles_of(given) == {"3d2": ["3d1", "3d3"], "3d4": ["3d5"]}


def test_other_shapes_stand_for_themselves(tmp_path: Path) -> None:
    assert bundles_of(shapes(tmp_path, "a.off", "a.ply", "a.obj")) == {}


def test_without_a_mesh_there_is_no_bundle(tmp_path: Path) -> None:
    assert bundles_of(shapes(tmp_path, "a.mtl", "a.jpg")) == {}
