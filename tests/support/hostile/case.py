"""One hostile file: what it is called, who opens it, and what makes its bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

Makers = Mapping[str, Callable[[], bytes]]
"""What makes the bytes of each file, by its name."""


class Hostile(NamedTuple):
    """``openers`` name the decoders that it is put to (``tests.support.hostile.opening``)."""

    name: str
    openers: tuple[str, ...]
    make: Callable[[], bytes]


def named(kind: str, openers: Iterable[str], makers: Makers) -> tuple[Hostile, ...]:
    return tuple(Hostile(f"{kind}: {name}", tuple(openers), make) for name, make in makers.items())
