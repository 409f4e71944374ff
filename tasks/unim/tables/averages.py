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
from array import array
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from mmeval.aggregate import (
    ClusterSums,
    Estimate,
    Scores,
    Term,
    known_mean,
    term_of_residuals,
)


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
    means = []
    is_supported = False
    for part in parts:
        means.append(micro(part))
        is_supported = is_supported or part.supported > 0
    absolute = known_mean(mean.absolute for mean in means)
    relative = known_mean(mean.relative for mean in means)
    if absolute is None and is_supported:
        relative = None
    return Means(known_mean(mean.tau for mean in means), absolute, relative)


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
    terms = []
    errors = []
    for part in known:
        if part.whole.scored:
            term = part.term(kind, scores.range)._replace(share=1 / len(known))
            terms.append(term)
            if term.stderr is not None:
                errors.append(term.share * term.stderr)
    stderr = math.hypot(*errors) if len(errors) == len(terms) else None
    return Estimate(value, stderr, resample=False, terms=tuple(terms))


class _Part(NamedTuple):
    """A part of the scores by clusters: the repeats of a sample are not independent."""

    clusters: Mapping[str, Sums]
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
            before = found.get(row.cluster)
            found[row.cluster] = one if before is None else before.plus(one)
        columns = zip(*found.values(), strict=True)
        whole = Sums(*map(math.fsum, columns))
        return cls(found, micro(whole), whole)

    def value(self, kind: Literal["absolute", "relative"]) -> float | None:
        return self.means.absolute if kind == "absolute" else self.means.relative

    def term(
        self, kind: Literal["absolute", "relative"], range: tuple[float, float]
    ) -> Term:
        """The mean as it is linear in what each cluster adds to it. Without losses,
        unsupported instances are 0 in the relative one.

        It is that of a part with scored instances. With no supported one the relative
        mean is 0 by rule, whatever the clusters are.
        """
        tau, absolute = self.means.tau or 0.0, self.means.absolute or 0.0
        whole, clusters = self.whole, self.clusters
        if kind == "absolute":
            clusters = {name: sums for name, sums in clusters.items() if sums.scored}
        counts = array("d")
        residuals = []
        for sums in clusters.values():
            of_scored = (sums.total - absolute * sums.scored) / whole.scored
            if kind == "absolute":
                counts.append(sums.scored)
                residuals.append(of_scored)
            else:
                counts.append(sums.asked)
                of_supported = (sums.supported - tau * sums.asked) / whole.asked
                residuals.append(absolute * of_supported + tau * of_scored)
        totals = array("d", [sums.total for sums in clusters.values()])
        return term_of_residuals(
            residuals,
            ClusterSums(list(clusters), totals, counts),
            value=self.value(kind) or 0.0,
            range=range,
        )
