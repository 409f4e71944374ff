"""A compared number, as it is printed, written and returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from mmeval.comparison.statistics import PairedTest

Verdict = Literal["better", "worse", "within", "not_seen", "unlike", "no_pairs"]


@dataclass(frozen=True)
class Number:
    """A number of ``run`` compared with the reference's; the fields are those of the
    JSON.

    ``effective`` is how many clusters of one size would tell as much as ``clusters``.
    ``a`` and ``b`` are the values over the pairs, ``bounds`` those of the difference.
    ``ci95`` is the interval of this number alone, or one of those that hold together.
    ``p_adjusted`` is corrected for all tests of its family, and so is
    ``smallest_seen``. ``left_out`` counts trials in no pair by reason, and ``lacking``
    by reason what each of the two runs lacks. ``refused`` counts the answers that each
    of the two refused, of its ``trials``. ``samples_needed`` is there where a
    difference to detect was named, and ``equivalence_p`` where a margin of equality
    was.

    ``worst`` is the test with lost trials at their worst, where a gate was asked for
    and that is known; ``lost`` counts those of the reference and those of the run.
    ``is_extra``: the reference has no such number.
    """

    task: str
    metric: str
    slice: str
    run: str
    pairs: int
    clusters: int
    effective: float | None
    a: float | None
    b: float | None
    difference: float | None
    stderr: float | None
    ci95: tuple[float, float] | None
    p: float | None
    p_adjusted: float | None
    smallest_seen: float | None
    bounds: tuple[float, float] | None
    left_out: Mapping[str, int]
    lacking: Mapping[str, Mapping[str, int]]
    refused: Mapping[str, int]
    judge_shift: Mapping[str, Any] | None
    verdict: Verdict
    why: str
    samples_needed: int | None = None
    equivalence_p: float | None = None
    alias: str = field(default="", repr=False)
    higher_is_better: bool = field(default=True, repr=False)
    test: PairedTest | None = field(default=None, repr=False, compare=False)
    worst: PairedTest | None = field(default=None, repr=False, compare=False)
    lost: tuple[int, int] = field(default=(0, 0), repr=False)
    is_incomplete: bool = field(default=False, repr=False)
    trials: Mapping[str, int] = field(default_factory=dict, repr=False)
    is_extra: bool = field(default=False, repr=False)

    def to_json(self, *, needed: bool, equal: bool = False) -> dict[str, Any]:
        """Its public fields; whether the samples are among them that a difference
        needs, and the p of equality."""
        left_out = set()
        if not needed:
            left_out.add("samples_needed")
        if not equal:
            left_out.add("equivalence_p")
        return {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if one.repr and one.name not in left_out
        }
