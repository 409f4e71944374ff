"""The running median of 31 rows, equal to ``scipy.ndimage.median_filter``.

Two neighbouring windows share thirty rows. The median of each follows from the two middle values of these and from the
one row that it does not share. The thirty are merged from sorted runs of sixteen, eight, four and two, which neighbours
share.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

WINDOW = 31
HALF = WINDOW // 2
_LANES = 2**15
"""Numbers that are compared in one step, so that the runs stay in the processor's cache."""


def running_median(rows: Samples) -> Samples:
    """Medians of 31 neighbours along axis 0: (n, m), where ``rows`` has (n + 30, m)."""
    import numpy

    count, width = len(rows) - WINDOW + 1, rows.shape[1]
    found = numpy.empty((count, width), rows.dtype)
    at_once = max(2, 2 * (_LANES // (2 * max(1, width))))
    for first in range(0, count, at_once):
        last = min(first + at_once, count)
        found[first:last] = _medians(rows[first : last + WINDOW - 1])
    return found


def reflected(rows: Samples, before: int = HALF, after: int = HALF) -> Samples:
    """Rows with some more at both ends of axis 0, mirrored, the outermost one twice."""
    import numpy

    return numpy.pad(rows, ((before, after), (0, 0)), mode="symmetric")


def _medians(rows: Samples) -> Samples:
    """``running_median`` of a few rows; an odd count is made even by an unused row."""
    import numpy

    count = len(rows) - WINDOW + 1
    if count % 2:
        rows = numpy.concatenate([rows, rows[-1:]])
    pairs = (count + 1) // 2
    low, high = _middle_of_thirty(rows, pairs)
    found = numpy.empty((2 * pairs, rows.shape[1]), rows.dtype)
    for own in range(2):  # of a pair of windows, the first row belongs to the first alone, the last row to the second
        start = own * WINDOW
        alone = rows[start : start + 2 * pairs : 2]
        numpy.minimum(numpy.maximum(alone, low), high, out=found[own::2])
    return found[:count]


def _middle_of_thirty(rows: Samples, pairs: int) -> tuple[Samples, Samples]:
    """The two middle values of the thirty rows that begin with rows 1, 3, 5 ..."""
    ordered: list[Samples] = [rows[1::2][: pairs + 14], rows[2::2][: pairs + 14]]
    runs: dict[int, list[Samples]] = {2: _merged(ordered[:1], ordered[1:])}
    for length in (4, 8, 16):
        half, step = runs[length // 2], length // 4
        runs[length] = _merged([run[:-step] for run in half], [run[step:] for run in half])
    sixteen = [run[:pairs] for run in runs[16]]
    eight = [run[8 : 8 + pairs] for run in runs[8]]
    four = [run[12 : 12 + pairs] for run in runs[4]]
    two = [run[14 : 14 + pairs] for run in runs[2]]
    fourteen = _merged(_merged(two, four), eight)
    return _ranked(sixteen, fourteen, 15), _ranked(sixteen, fourteen, 16)


def _merged(one: Sequence[Samples], other: Sequence[Samples]) -> list[Samples]:
    """Merge two sorted runs, by odd-even merging."""
    if not one or not other:
        return [*one, *other]
    if len(one) == len(other) == 1:
        return list(_ordered(one[0], other[0]))
    odd, even = _merged(one[::2], other[::2]), _merged(one[1::2], other[1::2])
    found = [odd[0]]
    for at in range(1, max(len(odd), len(even) + 1)):
        if at < len(odd) and at <= len(even):
            found += _ordered(odd[at], even[at - 1])
        else:
            found.append(odd[at] if at < len(odd) else even[at - 1])
    return found


def _ordered(one: Samples, other: Samples) -> tuple[Samples, Samples]:
    import numpy

    return numpy.minimum(one, other), numpy.maximum(one, other)


def _ranked(one: Sequence[Samples], other: Sequence[Samples], rank: int) -> Samples:
    """The value of a rank, from 1, among two sorted runs.
    Take ``rank`` values, the lowest of each run, in every possible way; the smallest of their maxima is the value."""
    import numpy

    highest = [
        functools.reduce(numpy.maximum, (*one[:count][-1:], *other[: rank - count][-1:]))
        for count in range(max(0, rank - len(other)), min(rank, len(one)) + 1)
    ]
    return functools.reduce(numpy.minimum, highest)
