"""The record of a compared number, which is printed, written and returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from mmeval.comparison.statistics import PairedTest

Verdict = Literal["better", "worse", "within", "not_seen", "unlike", "no_pairs"]
VERDICT_WORDS: Mapping[Verdict, str] = {
    "better": "better",
    "worse": "worse",
    "within": "within the margin",
    "not_seen": "no difference seen",
    "unlike": "not comparable",
    "no_pairs": "no pairs",
}
"""Each verdict in words."""
TOO_FEW = "too few samples"
"""The words for ``not_seen`` if no difference could have been seen."""


@dataclass(frozen=True)
class ComparedNumber:
    """A number of ``run`` compared with the number of the reference. The JSON has the
    same fields.

    ``effective`` is the number of equal clusters that would contain as much
    information. ``a`` and ``b`` are the values over the pairs. ``bounds`` are the
    bounds of the difference. ``ci95`` is the interval for this number alone, or a
    simultaneous interval. ``p_adjusted`` and ``smallest_seen`` are corrected for all
    tests of the family. ``left_out`` counts the unpaired trials by reason. ``lacking``
    is the number of trials that each run lacks. ``refused`` contains, for each run, the
    number of requests that the model refused and the number of ``trials``.
    ``samples_needed`` is only present with ``--detect``, and ``equivalence_p`` is only
    present with a margin of equality.

    ``worst`` is the test in which lost trials get their worst scores. It is None
    without a gate, or if the result is unknown. ``lost`` contains the numbers of trials
    that the reference and the run lost. ``is_extra`` is True if the reference does not
    have the number.
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

    @property
    def title(self) -> str:
        """The name of the number for readers."""
        title = f"{self.alias or self.task}, {self.metric}"
        return f"{title}, {self.slice}" if self.slice else title

    @property
    def has_too_few(self) -> bool:
        """True if no difference could have been seen, however large."""
        is_testable = self.test is not None and self.test.evidence is not None
        return self.verdict == "not_seen" and is_testable and self.smallest_seen is None

    @property
    def verdict_words(self) -> str:
        """The verdict for readers."""
        return TOO_FEW if self.has_too_few else VERDICT_WORDS[self.verdict]

    def to_json(self, *, needed: bool, equal: bool = False) -> dict[str, Any]:
        """Returns the public fields. With ``needed`` they include the samples needed to
        detect a difference, and with ``equal`` the p of equality."""
        left_out = set()
        if not needed:
            left_out.add("samples_needed")
        if not equal:
            left_out.add("equivalence_p")
        return {
            entry.name: getattr(self, entry.name)
            for entry in fields(self)
            if entry.repr and entry.name not in left_out
        }
