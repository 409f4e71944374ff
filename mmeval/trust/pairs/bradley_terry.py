"""Strengths of players by Bradley and Terry, with ties by Davidson.

Source: Davidson, On Extending the Bradley-Terry Model to Accommodate Ties in Paired
Comparison Experiments, 1970. A player's strength is the logarithm of its weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmeval.aggregate.resampling import Values
from mmeval.errors import MmevalError
from mmeval.trust.correction.rated_trials import (
    NO_RANGE,
    Places,
    Range,
    cluster_sums,
    in_order_of_appearance,
    interval,
)
from mmeval.trust.pairs.existence import Arrow, components, is_separated
from mmeval.trust.pairs.judgements import Judgement, Ties

_CLOSE = 1e-12
"""At the maximum, the gradient divided by the comparisons is below this."""
_MOST_STEPS = 200
_ROUNDING = 1e-13
_Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Strength:
    """A strength, with mean 0 over all players. Without two clusters, its error is
    None."""

    value: float
    stderr: float | None
    ci95: Range | None

    def to_json(self) -> dict[str, Any]:
        """Returns all fields."""
        return asdict(self)


@dataclass(frozen=True)
class Strengths:
    """The strength of each player, and the weight ``nu`` of a tie (0: no ties)."""

    of_players: dict[str, Strength]
    nu: float


@dataclass(frozen=True)
class NoStrengths:
    """Why there are no strengths, and the players that hang together."""

    refused: str
    components: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class _Comparisons:
    """The likelihood: ``exponents`` has for each comparison and each of three outcomes
    (a wins, b wins, tie) the coefficients of the parameters. ``shares`` says how much
    of each outcome happened, and ``possible`` which outcomes exist."""

    exponents: _Matrix
    shares: Values
    possible: NDArray[np.bool_]
    players: int

    def log_probabilities(self, parameters: Values) -> Values:
        """Returns the logarithm of the probability of each outcome."""
        powers = np.where(self.possible, self.exponents @ parameters, -math.inf)
        powers -= powers.max(axis=1, keepdims=True)
        sums = np.exp(powers).sum(axis=1, keepdims=True)
        logs: Values = powers - np.log(sums)
        return logs

    def log_likelihood(self, parameters: Values) -> float:
        """Returns the logarithm of the likelihood."""
        seen = self.shares > 0
        return float(self.shares[seen] @ self.log_probabilities(parameters)[seen])

    def scores(self, parameters: Values) -> _Matrix:
        """Returns the gradient of each comparison."""
        apart = self.shares - np.exp(self.log_probabilities(parameters))
        gradients: _Matrix = np.einsum("co,cop->cp", apart, self.exponents)
        return gradients

    def information(self, parameters: Values) -> _Matrix:
        """Returns the negative second derivative. Strengths have no absolute level:
        their common shift gets a curvature of 1, so that the matrix is invertible."""
        chances = np.exp(self.log_probabilities(parameters))
        weighted = chances[:, :, None] * self.exponents
        means = weighted.sum(axis=1)
        parameter_count = len(parameters)
        flat = self.exponents.reshape(-1, parameter_count)
        squares = weighted.reshape(-1, parameter_count).T @ flat
        curvature: _Matrix = squares - means.T @ means
        curvature[: self.players, : self.players] += 1
        return curvature


def strengths(
    judgements: Sequence[Judgement], players: Sequence[str], ties: Ties
) -> Strengths | NoStrengths:
    """Returns the strengths of maximal likelihood, or why they do not exist.

    ``ties`` says what a tie is: an outcome of its own (``davidson``), half a win for
    each (``half``), or a win of the side it leans to (``forced``).
    """
    if ties == "forced" and not all(each.forced_winner for each in judgements):
        return NoStrengths("a tie has no side")
    number_of = {name: number for number, name in enumerate(players)}
    has_nu = ties == "davidson" and any(each.is_tie for each in judgements)
    comparisons = _comparisons(judgements, number_of, ties, has_nu=has_nu)

    wins = [_arrow(each.winner, each, number_of) for each in judgements if each.winner]
    arrows = _arrows(judgements, number_of, ties)
    connected = components(len(players), arrows)
    if len(connected) > 1:
        return NoStrengths("not connected", _named(connected, players))
    by_wins = components(len(players), wins)
    # ties alone connect players without a limit to their strengths
    if has_nu and len(by_wins) > 1 and _is_unlimited(comparisons):
        return NoStrengths("no finite estimate", _named(by_wins, players))
    clusters = in_order_of_appearance([each.cluster for each in judgements])
    parameters = _maximum(comparisons)
    of_players = _with_errors(comparisons, parameters, clusters, players)
    return Strengths(of_players, math.exp(parameters[-1]) if has_nu else 0.0)


def _comparisons(
    judgements: Sequence[Judgement],
    number_of: dict[str, int],
    ties: Ties,
    *,
    has_nu: bool,
) -> _Comparisons:
    count, players = len(judgements), len(number_of)
    exponents = np.zeros((count, 3, players + has_nu))
    shares = np.zeros((count, 3))
    for row, judgement in enumerate(judgements):
        a, b = number_of[judgement.a], number_of[judgement.b]
        exponents[row, 0, a] = exponents[row, 1, b] = 1
        if has_nu:
            exponents[row, 2, [a, b]] = 0.5
            exponents[row, 2, players] = 1
        shares[row] = _shares(judgement, ties)
    possible = np.ones((count, 3), dtype=bool)
    possible[:, 2] = has_nu
    return _Comparisons(exponents, shares, possible, players)


def _shares(judgement: Judgement, ties: Ties) -> tuple[float, float, float]:
    winner = judgement.forced_winner if ties == "forced" else judgement.winner
    if winner:
        return (1, 0, 0) if winner == judgement.a else (0, 1, 0)
    return (0.5, 0.5, 0) if ties == "half" else (0, 0, 1)


def _arrows(
    judgements: Sequence[Judgement], number_of: dict[str, int], ties: Ties
) -> list[Arrow]:
    """Returns an arrow for each win, and for a tie one in both directions."""
    arrows = []
    for judgement in judgements:
        winner = judgement.forced_winner if ties == "forced" else judgement.winner
        for name in (judgement.a, judgement.b):
            if not winner or winner == name:
                arrows.append(_arrow(name, judgement, number_of))
    return arrows


def _arrow(winner: str, judgement: Judgement, number_of: dict[str, int]) -> Arrow:
    loser = judgement.b if winner == judgement.a else judgement.a
    return number_of[winner], number_of[loser]


def _named(
    groups: Sequence[Sequence[int]], players: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    # players are sorted, and so are numbers within and among the groups
    return tuple(tuple(players[number] for number in group) for group in groups)


def _is_unlimited(comparisons: _Comparisons) -> bool:
    happened = comparisons.shares.argmax(axis=1)
    outcomes = []
    others = []
    for exponents, outcome in zip(comparisons.exponents, happened, strict=True):
        outcomes.append(exponents[outcome])
        others.append(np.delete(exponents, outcome, axis=0))
    return is_separated(outcomes, others)


def _maximum(comparisons: _Comparisons) -> Values:
    """Returns the parameters of maximal likelihood, by Newton's method.

    The likelihood is concave. A step that overshoots is halved.
    """
    parameters = np.zeros(comparisons.exponents.shape[2])
    likelihood = comparisons.log_likelihood(parameters)
    for _ in range(_MOST_STEPS):
        gradient = comparisons.scores(parameters).sum(axis=0)
        if np.abs(gradient).max() < _CLOSE * len(comparisons.shares):
            return parameters
        step = np.linalg.solve(comparisons.information(parameters), gradient)
        rounding = _ROUNDING * abs(likelihood)
        next_parameters = parameters + step
        next_likelihood = comparisons.log_likelihood(next_parameters)
        while next_likelihood < likelihood - rounding:
            step /= 2
            next_parameters = parameters + step
            next_likelihood = comparisons.log_likelihood(next_parameters)
        parameters, likelihood = next_parameters, next_likelihood
    raise MmevalError("the strengths of pairs have not converged; report this case")


def _with_errors(
    comparisons: _Comparisons,
    parameters: Values,
    clusters: Places,
    players: Sequence[str],
) -> dict[str, Strength]:
    count = len(players)
    values = parameters[:count] - parameters[:count].mean()
    cluster_count = int(clusters.max()) + 1
    if cluster_count < 2:
        return {
            name: Strength(float(value), None, None)
            for name, value in zip(players, values, strict=True)
        }
    variances = _variances(comparisons, parameters, clusters, cluster_count)
    of_players = {}
    for name, value, variance in zip(players, values, variances, strict=True):
        stderr = math.sqrt(variance)
        ends = interval(float(value), stderr, cluster_count - 1, NO_RANGE)
        of_players[name] = Strength(float(value), stderr, ends)
    return of_players


def _variances(
    comparisons: _Comparisons,
    parameters: Values,
    clusters: Places,
    cluster_count: int,
) -> list[float]:
    """Returns the variances of the centred strengths, by the sandwich over clusters."""
    inverse = np.linalg.inv(comparisons.information(parameters))
    of_clusters = cluster_sums(comparisons.scores(parameters), clusters)
    bread = of_clusters @ inverse
    strengths_alone = bread[:, : comparisons.players]
    centred = strengths_alone - strengths_alone.mean(axis=1, keepdims=True)
    factor = cluster_count / (cluster_count - 1)
    variances: Values = factor * np.square(centred).sum(axis=0)
    numbers: list[float] = variances.tolist()
    return numbers
