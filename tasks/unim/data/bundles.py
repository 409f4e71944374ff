"""Meshes over several tags: an OBJ, its materials and texture, a tag for each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from mmeval.media import Media, kind_for
from mmeval.tasks.unim.data.files import MATERIALS

_MESH = "model/obj"


def bundles_of(shapes: Mapping[str, Media]) -> dict[str, list[str]]:
    """The tags of each OBJ's files, by the OBJ's tag, among one side's 3D media.

    Materials and pictures belong to the OBJ that has their file's stem, else to the OBJ
    before them, else to the first one. Without an OBJ there is no bundle.
    """
    bundles: dict[str, list[str]] = {}
    stems: dict[str, str] = {}
    for tag, medium in shapes.items():
        if medium.mime == _MESH:
            bundles[tag] = []
            stems.setdefault(_stem(medium), tag)
    before = next(iter(bundles), "")
    for tag, medium in shapes.items():
        if tag in bundles:
            before = tag
        elif before and (medium.mime == MATERIALS or kind_for(medium.mime) == "image"):
            bundles[stems.get(_stem(medium), before)].append(tag)
    return {tag: tags for tag, tags in bundles.items() if tags}


def _stem(medium: Media) -> str:
    return PurePosixPath(medium.name).stem
