"""Plans a comparison: the samples needed to detect a difference, or to rule it out.

    plan = Plan(margin=0.05, share=0.9)
    plan.pairs_to_see, plan.pairs_to_show

A plan assumes that answers are right or wrong, that each cluster has one answer, and
that the score test is used.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mmeval.comparison.paired.power import (
    fewest,
    power_of_equivalence,
    power_of_shares,
)
from mmeval.comparison.paired.sign_flips import FEWEST_CLUSTERS
from mmeval.errors import UsageError

_WIDTH = 80


@dataclass(frozen=True)
class Plan:
    """A plan for a comparison with ``margin``, ``clusters`` or both.

    ``share`` is the share of the reference's answers that are right. ``disagree`` is
    the share of pairs in which only one run is right. The default is half of this share
    for runs with independent errors. Raises UsageError for impossible values.
    """

    margin: float | None = None
    clusters: int | None = None
    share: float = 0.5
    disagree: float | None = None
    power: float = 0.8
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if self.margin is None and self.clusters is None:
            raise UsageError(
                "--plan needs --margin (a difference), --clusters (a number of "
                "samples), or both",
                name="plan",
            )
        for name in ("margin", "share", "power", "alpha"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                raise UsageError(
                    f"--{name} must be between 0 and 1, not {value:g}"
                    f"{_as_share(value)}",
                    name=name,
                )
        if self.clusters is not None and self.clusters < 2:
            raise UsageError(
                f"--clusters must be at least 2 samples, not {self.clusters}",
                name="clusters",
            )
        most = 2 * min(self.share, 1 - self.share)
        if self.disagree is not None and not 0 < self.disagree <= most:
            raise UsageError(
                f"--disagree must be above 0 and at most {most:g} (the share of right "
                f"answers is {self.share:g}), not {self.disagree:g}"
                f"{_as_share(self.disagree)}",
                name="disagree",
            )

    @property
    def differing(self) -> float:
        """The share of pairs that differ."""
        if self.disagree is None:
            return self.share * (1 - self.share)
        return self.disagree

    @cached_property
    def pairs_to_see(self) -> int | None:
        """The number of pairs needed to detect a true difference of the margin."""
        return self._pairs(self._power_to_see)

    @cached_property
    def pairs_to_show(self) -> int | None:
        """The number of pairs needed to show, for an equally good run, that it is not
        worse by the margin."""
        return self._pairs(self._power_to_show)

    def to_json(self) -> dict[str, Any]:
        clusters, margin = self.clusters, self.margin
        to_see = to_show = None
        if clusters is not None and margin is not None:
            to_see = self._power_to_see(clusters, margin)
            to_show = self._power_to_show(clusters, margin)
        return {
            "share": self.share,
            "disagree": self.differing,
            "power": self.power,
            "alpha": self.alpha,
            "margin": margin,
            "clusters": clusters,
            "power_to_see": to_see,
            "power_to_show": to_show,
            "smallest_seen": self._smallest(self._power_to_see),
            "smallest_shown": self._smallest(self._power_to_show),
            "clusters_to_see": self.pairs_to_see,
            "clusters_to_show": self.pairs_to_show,
        }

    def to_text(self) -> str:
        """Returns the plan in lines of at most 80 columns."""
        plan = self.to_json()
        power = _percent(self.power)
        share, differing = _percent(self.share), _percent(self.differing)
        lines = [f"right or wrong: {share} right, {differing} of the pairs disagree"]
        if plan["power_to_see"] is not None:
            lines.append(
                f"{self.clusters:,} samples: a difference of {self.margin:g} is "
                f"detected with {_percent(plan['power_to_see'])} power; an equal run "
                f"passes --fail_unless_within {self.margin:g} with "
                f"{_percent(plan['power_to_show'])}"
            )
        if self.clusters is not None:
            lines.append(
                f"{self.clusters:,} samples detect {_number(plan['smallest_seen'])} "
                f"and rule out {_number(plan['smallest_shown'])}, with {power} power"
            )
        if self.margin is not None:
            lines.append(
                f"{plan['clusters_to_see']:,} samples detect {self.margin:g}, and "
                f"{plan['clusters_to_show']:,} rule it out, with {power} power"
            )
        folded = [
            textwrap.fill(line, _WIDTH, initial_indent="", subsequent_indent="  ")
            for line in lines
        ]
        return "\n".join(folded) + "\n"

    def _power_to_see(self, pairs: int, difference: float) -> float:
        if pairs < FEWEST_CLUSTERS:
            return 0.0
        return power_of_shares(pairs, self.differing, difference, self.alpha)

    def _power_to_show(self, pairs: int, margin: float) -> float:
        if pairs < FEWEST_CLUSTERS:
            return 0.0
        return power_of_equivalence(pairs, self.differing, margin, self.alpha)

    def _pairs(self, power_of: Callable[[int, float], float]) -> int | None:
        margin = self.margin
        if margin is None:
            return None
        return fewest(lambda pairs: power_of(pairs, margin) >= self.power, 2)

    def _smallest(self, power_of: Callable[[int, float], float]) -> float | None:
        if self.clusters is None or power_of(self.clusters, 0.999) < self.power:
            return None
        low, high = 0.0, 0.999
        while high - low > 1e-3 * high:
            middle = (low + high) / 2
            if power_of(self.clusters, middle) >= self.power:
                high = middle
            else:
                low = middle
        return high


def _as_share(value: float) -> str:
    """Returns a hint for a value that looks like a percentage."""
    return f" (for {value:g} % write {value / 100:g})" if 1 < value < 100 else ""


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _number(value: float | None) -> str:
    """Formats a difference with three decimals, or with three significant digits if it
    is below 0.1. The difference is rounded up, because a smaller one is not detected.
    """
    if value is None:
        return "nothing"
    decimals = max(3, 2 - math.floor(math.log10(value)))
    return f"{math.ceil(10**decimals * value) / 10**decimals:g}"
