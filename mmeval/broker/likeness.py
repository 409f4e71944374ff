"""Likeness: which requests go well together in a batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from mmeval.records.digest import canonical_json
from mmeval.records.request import Request

MEDIUM_WEIGHT = 4000
"""What a medium counts in a request's length, in characters: a picture takes about a thousand tokens."""


def likeness(request: Request) -> bytes:
    """What the rows of a batch have in common."""
    return canonical_json([request.wants, request.params.to_json()])


def length(request: Request) -> int:
    """About how long a request is, in characters."""
    parts = [part for message in request.messages for part in message.content.parts]
    return sum(len(part.raw) if part.media is None else MEDIUM_WEIGHT for part in parts)


def least_padded(lengths: Sequence[int], wanted: int, count: int) -> int:
    """Where to begin a slice of ``count`` rising lengths that holds the ``wanted`` one and needs the least padding."""
    total = [0, *accumulate(lengths)]
    begins = range(max(0, wanted - count + 1), max(0, min(wanted, len(lengths) - count)) + 1)

    def padding(begin: int) -> int:
        end = min(begin + count, len(lengths))
        return (end - begin) * lengths[end - 1] - (total[end] - total[begin])

    return min(begins, key=padding)
