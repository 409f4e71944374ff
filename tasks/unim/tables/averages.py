"""UniM's averages over the instances that a model supports, and over all instances.

An instance is *supported* if the model accepts every modality of its input. ``tau`` is
the share of supported instances. The *absolute* score is the mean over supported
instances, and the *relative* score is ``tau`` times the absolute score. Most of the
paper's numbers for fields are unweighted means of domains (*macro*), and some are means
of instances (*micro*).

An instance with a lost answer or verdict is supported but has no value. Such an
instance counts in ``tau`` but not in the absolute mean. A bad instance is left out of
all averages.
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
    """The weighted sums of a number over a slice.

    The fields are the summed weights of all instances, of supported instances and of
    instances with a value, and the weighted sum of the values.
    """

    asked: float = 0.0
    supported: float = 0.0
    scored: float = 0.0
    total: float = 0.0

    def plus(self, other: Sums) -> Sums:
        return Sums(*map(sum, zip(self, other, strict=True)))


class SliceMeans(NamedTuple):
    """The three means of a slice, each None if unknown or without instances."""

    tau: float | None = None
    absolute: float | None = None
    relative: float | None = None


def micro(sums: Sums) -> SliceMeans:
    """Computes the means over instances.

    Without supported instances the absolute mean is None, and the relative mean is 0.
    If all values are lost, both means are None.
    """
    if not sums.asked:
        return SliceMeans()
    tau = sums.supported / sums.asked
    absolute = sums.total / sums.scored if sums.scored else None
    if not sums.supported:
        return SliceMeans(tau, None, 0.0)
    return SliceMeans(tau, absolute, None if absolute is None else tau * absolute)


def macro(parts: Iterable[Sums]) -> SliceMeans:
    """Computes the unweighted means over the parts with instances.

    The absolute mean only covers the parts with a value. ``tau`` and the relative mean
    also cover parts without supported instances, so the relative mean is not the
    product of the other two. If all values are lost, the absolute and relative means
    are None.
    """
    means = []
    is_supported = False
    for part in parts:
        means.append(micro(part))
        is_supported = is_supported or part.supported > 0
    absolute = known_mean(mean.absolute for mean in means)
    relative = known_mean(mean.relative for mean in means)
    if absolute is None and is_supported:
        relative = None
    return SliceMeans(known_mean(mean.tau for mean in means), absolute, relative)


def unim(
    scores: Scores,
    *,
    average: Literal["macro", "micro"] = "macro",
    kind: Literal["absolute", "relative"] = "absolute",
    by: str = "domain",
) -> Estimate:
    """Computes the absolute or relative mean of UniM's tables.

    With ``macro`` all values of the label ``by`` have the same weight. The task's
    ``breakdown`` must name this label. Trials without the label are left out, unless no
    trial has it. With ``micro`` all trials have the same weight. The standard error
    treats the parts as independent, with clusters within each part. The standard error
    is None if a part has fewer than two clusters.
    """
    parts = [scores]
    if average == "macro":
        parts = list(scores.by_level(by).values()) or parts
    clustered_parts = [_ClusteredPart.of(part) for part in parts]
    means = macro(part.whole for part in clustered_parts)
    value = means.absolute if kind == "absolute" else means.relative
    if value is None:
        return Estimate(None)
    parts_with_value = [
        part for part in clustered_parts if part.value(kind) is not None
    ]
    terms = []
    errors = []
    for part in parts_with_value:
        if part.whole.scored:
            term = part.term(kind, scores.range)._replace(
                share=1 / len(parts_with_value)
            )
            terms.append(term)
            if term.stderr is not None:
                errors.append(term.share * term.stderr)
    stderr = math.hypot(*errors) if len(errors) == len(terms) else None
    return Estimate(value, stderr, resample=False, terms=tuple(terms))


class _ClusteredPart(NamedTuple):
    """A part of the scores by cluster, since repeats of a sample are dependent."""

    clusters: Mapping[str, Sums]
    means: SliceMeans
    whole: Sums

    @classmethod
    def of(cls, scores: Scores) -> _ClusteredPart:
        sums_of: dict[str, Sums] = {}
        for row in scores:
            if row.faulty:
                continue
            value = row.value
            is_supported = float(row.status != "unsupported")
            sums = Sums(1.0, is_supported, float(value is not None), value or 0.0)
            previous = sums_of.get(row.cluster)
            sums_of[row.cluster] = sums if previous is None else previous.plus(sums)
        columns = zip(*sums_of.values(), strict=True)
        whole = Sums(*map(math.fsum, columns))
        return cls(sums_of, micro(whole), whole)

    def value(self, kind: Literal["absolute", "relative"]) -> float | None:
        return self.means.absolute if kind == "absolute" else self.means.relative

    def term(
        self, kind: Literal["absolute", "relative"], range: tuple[float, float]
    ) -> Term:
        """Returns the linear term of the mean, by cluster, for its standard error.

        The part must have scored instances. If no value is lost, unsupported instances
        count as 0 in the relative mean. Without supported instances the relative mean
        is 0 by definition.
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
