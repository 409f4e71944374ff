"""One bundled sample, before it has files, and the placeholders of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One sample. ``given`` are the media of the prompt, ``should_be`` the pictures
    that an answer is compared with.

    ``answer`` is a right answer with its ``media``; where it is empty and there are
    media, it is their placeholders.
    """

    file: str
    prompt: str
    labels: dict[str, Any]
    given: Sequence[bytes] = ()
    should_be: Sequence[bytes] = ()
    answer: str = ""
    media: Sequence[bytes] = ()


def placeholder(kind: str, number: int) -> str:
    return f"<{kind}_start><{kind}_{number}><{kind}_end>"


PICTURE = placeholder("image", 0)
"""The first picture of an answer."""
