"""The averages of UniM: over the instances that a model supports, and over all.

An instance is *supported* when the model takes every modality of its input; ``tau`` is
the share of those. A score is published *absolute*, the mean over supported instances,
and *relative*, ``tau`` times that. Fields are published mostly as unweighted means of
their domains (*macro*), in part as means of instances (*micro*).

An instance whose answer or verdict was lost is supported and has no value: it counts in
``tau``, and the absolute mean is that of the others. One that could not be asked
because of its own data counts nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from mmeval.aggregate import Estimate, Scores, known_mean, weighted_mean_stderr


class Sums(NamedTuple):
    """The weighted sums of one number over a slice.
    They are of all instances, supported ones, ones with a value, and these values."""

    asked: float = 0.0
    supported: float = 0.0
    scored: float = 0.0
    total: float = 0.0

    def plus(self, other: Sums) -> Sums:
        return Sums(*map(sum, zip(self, other, strict=True)))


class Means(NamedTuple):
    """The three numbers of a slice; None: unknown, or of an empty slice."""

    tau: float | None = None
    absolute: float | None = None
    relative: float | None = None


def micro(sums: Sums) -> Means:
    """The means over instances. A slice without supported instances has no absolute
    mean, and its relative one is 0; a slice where all values were lost has neither."""
    if not sums.asked:
        return Means()
    tau = sums.supported / sums.asked
    absolute = sums.total / sums.scored if sums.scored else None
    if not sums.supported:
        return Means(tau, None, 0.0)
    return Means(tau, absolute, None if absolute is None else tau * absolute)


def macro(parts: Iterable[Sums]) -> Means:
    """The unweighted means over the parts with instances. Each number is over the parts
    that have it. The absolute mean is over parts with a value; ``tau`` and the relative
    mean also over parts without supported instances, so that the relative mean is not
    the product of the two others. Where all values were lost there is neither."""
    parts = list(parts)
    found = [micro(part) for part in parts]
    tau, absolute, relative = (
        known_mean([mean[at] for mean in found]) for at in range(len(Means._fields))
    )
    return Means(
        tau,
        absolute,
        None
        if absolute is None and any(part.supported for part in parts)
        else relative,
    )


def unim(
    scores: Scores,
    *,
    average: Literal["macro", "micro"] = "macro",
    kind: Literal["absolute", "relative"] = "absolute",
    by: str = "domain",
) -> Estimate:
    """The mean of UniM's tables, absolute or relative.

    ``macro`` weighs every value of the label ``by`` the same, which ``breakdown`` has
    to name; trials without the label are left out, unless none has it. ``micro`` weighs
    every trial the same. The standard error treats the parts as independent, with
    clusters within each; None where a part has fewer than two clusters.
    """
    parts = [scores]
    if average == "macro":
        parts = list(scores.by_level(by).values()) or parts
    clustered = [_Part.of(part) for part in parts]
    means = macro(part.whole for part in clustered)
    value = means.absolute if kind == "absolute" else means.relative
    if value is None:
        return Estimate(None)
    known = [part for part in clustered if part.value(kind) is not None]
    errors = [error for part in known if (error := part.stderr(kind)) is not None]
    if len(errors) < len(known):
        return Estimate(value, resample=False)
    return Estimate(value, weighted_mean_stderr(errors, [1 / len(known)] * len(known)))


class _Part(NamedTuple):
    """A part of the scores by clusters: the repeats of a sample are not independent."""

    clusters: Sequence[Sums]
    means: Means
    whole: Sums

    @classmethod
    def of(cls, scores: Scores) -> _Part:
        found: dict[str, Sums] = {}
        for row in scores:
            if row.faulty:
                continue
            value = row.value
            taken = float(row.status != "unsupported")
            one = Sums(1.0, taken, float(value is not None), value or 0.0)
            found[row.cluster] = (
                found[row.cluster].plus(one) if row.cluster in found else one
            )
        clusters = tuple(found.values())
        whole = (
            Sums(*(math.fsum(column) for column in zip(*clusters, strict=True)))
            if clusters
            else Sums()
        )
        return cls(clusters, micro(whole), whole)

    def value(self, kind: Literal["absolute", "relative"]) -> float | None:
        return self.means.absolute if kind == "absolute" else self.means.relative

    def stderr(self, kind: Literal["absolute", "relative"]) -> float | None:
        """The standard error, linearised over clusters. Without losses, unsupported
        instances are 0 in the relative one. With no supported one its mean is 0 by
        rule."""
        tau, absolute, whole = self.means.tau, self.means.absolute, self.whole
        if tau is None or absolute is None:
            return 0.0
        if kind == "absolute":
            shifts = [
                (one.total - absolute * one.scored) / whole.scored
                for one in self.clusters
                if one.scored
            ]
        else:
            shifts = [
                absolute * (one.supported - tau * one.asked) / whole.asked
                + tau * (one.total - absolute * one.scored) / whole.scored
                for one in self.clusters
            ]
        count = len(shifts)
        return (
            math.sqrt(count / (count - 1) * math.fsum(shift**2 for shift in shifts))
            if count > 1
            else None
        )
