"""Hostile media, made by code: files of a few bytes that would cost hours or gigabytes, lie about themselves, or reach
for what is not theirs. ``corpus()`` is all of them."""

from __future__ import annotations

from tests.support.hostile import archives, documents, drawings, meshes, pictures, sounds, videos
from tests.support.hostile.case import Hostile


def corpus() -> tuple[Hostile, ...]:
    """All files, each with a name of its own."""
    parts = (pictures, drawings, sounds, videos, documents, meshes, archives)
    return tuple(case for part in parts for case in part.cases())
