"""Finds meshes with several tags: one each for OBJ file, materials and textures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from mmeval.media import Media, kind_for
from mmeval.tasks.unim.data.files import MATERIALS

_MESH = "model/obj"


def bundles_of(shapes: Mapping[str, Media]) -> dict[str, list[str]]:
    """Returns the tags of the materials and textures of each OBJ, by the OBJ's tag.

    ``shapes`` are the 3D media of one side, by tag. Materials and pictures belong to
    the OBJ with the same file stem, else to the previous OBJ, else to the first OBJ. If
    there are no OBJ files, there are no bundles.
    """
    bundles: dict[str, list[str]] = {}
    stems: dict[str, str] = {}
    for tag, medium in shapes.items():
        if medium.mime == _MESH:
            bundles[tag] = []
            stems.setdefault(_stem(medium), tag)
    previous = next(iter(bundles), "")
    for tag, medium in shapes.items():
        if tag in bundles:
            previous = tag
        elif previous and (
            medium.mime == MATERIALS or kind_for(medium.mime) == "image"
        ):
            bundles[stems.get(_stem(medium), previous)].append(tag)
    return {tag: tags for tag, tags in bundles.items() if tags}


def _stem(medium: Media) -> str:
    return PurePosixPath(medium.name).stem
