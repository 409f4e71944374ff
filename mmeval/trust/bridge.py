"""Carries numbers of an old judge over to the scale of a new one.

    result = bridge(rows, "old", "new")
    result.exit_code, result.runs[0].new

The old judge has judged all answers. The new one has judged a random sample of them.
Its mean over all answers is estimated as a human mean is from few ratings: nothing is
assumed about how the two judges relate, and a bad old judge only widens the intervals.
Who asked the new judge does not matter: this takes rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from mmeval.aggregate.resampling import Values
from mmeval.comparison.statistics import LEVEL, corrected
from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, UsageError, did_you_mean
from mmeval.trust.correction.difference import Difference, difference
from mmeval.trust.correction.estimate import Estimate
from mmeval.trust.correction.estimate import corrected as corrected_mean
from mmeval.trust.correction.homogeneity import Homogeneity, homogeneity
from mmeval.trust.correction.mean import Mean, clustered_mean
from mmeval.trust.correction.rated_trials import RatedTrials, numbered
from mmeval.trust.records import ScoreRow

FEWEST_VERDICTS = 20
TOO_FEW = f"fewer than {FEWEST_VERDICTS} verdicts"
OLD_MISSING = "old verdicts are missing"
NOT_RANDOM = "not drawn at random"
OTHER_ANSWERS = "different answers"
OTHER_QUESTIONS = "different questions"

Verdict = Literal["carried", "turned", "open"]
"""Whether the order of two runs is the same under the new judge, the opposite, or not
known."""


@dataclass(frozen=True)
class BridgedRun:
    """A run's number under both judges.

    ``old`` is the mean of the old judge's verdicts, or None if it has none. ``new`` is
    the estimate of the new judge's mean, or None, and then ``why`` says the reason.
    ``shift`` is the mean of new minus old over answers that both judged.
    """

    run: str
    samples: int
    asked: int
    old: float | None
    new: Estimate | None
    shift: Mean | None
    why: str = ""
    trials: int = 0
    """The number of answers, of which a sample may have several."""


@dataclass(frozen=True)
class BridgedPair:
    """The difference ``b - a`` of two runs under both judges. ``p_adjusted`` is
    corrected for all pairs (Holm)."""

    a: str
    b: str
    old: float
    new: Difference
    p_adjusted: float

    @property
    def verdict(self) -> Verdict:
        """What becomes of the order of the two runs."""
        if self.p_adjusted >= LEVEL or self.old == 0:
            return "open"
        has_same_sign = (self.old > 0) == (self.new.value > 0)
        return "carried" if has_same_sign else "turned"


@dataclass(frozen=True)
class Bridge:
    """All runs, sorted by name, and all pairs of runs that have a number.

    If the whole is ``refused``, there are no runs; ``samples`` are those at fault.
    """

    runs: tuple[BridgedRun, ...] = ()
    pairs: tuple[BridgedPair, ...] = ()
    homogeneity: Homogeneity | None = None
    refused: str = ""
    samples: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0, or 3 if a run has no number in the new judge's scale."""
        is_incomplete = self.refused or any(run.new is None for run in self.runs)
        return EXIT_INCOMPLETE if is_incomplete else EXIT_OK

    def to_json(self) -> dict[str, Any]:
        """Returns the output of ``mmeval bridge --format json``."""
        document: dict[str, Any] = {
            "runs": [_run_json(run) for run in self.runs],
            "pairs": [_pair_json(pair) for pair in self.pairs],
            "homogeneity": None,
        }
        if self.homogeneity is not None:
            document["homogeneity"] = self.homogeneity.to_json()
        if self.refused:
            document["refused"] = self.refused
        if self.samples:
            document["samples"] = list(self.samples)
        return document


@dataclass(frozen=True)
class _Verdicts:
    """The rows of one run under both judges, by trial."""

    run: str
    old: Mapping[str, ScoreRow]
    new: Mapping[str, ScoreRow]

    @property
    def samples(self) -> set[str]:
        """The samples whose answers the old judge had to judge."""
        return {row.sample_name for row in self.old.values()}

    @property
    def asked(self) -> list[str]:
        """The trials with a verdict of the new judge."""
        return [name for name, row in self.new.items() if row.value is not None]


def bridge(
    rows: Iterable[ScoreRow],
    old: str,
    new: str,
    *,
    assume_random: bool = False,
) -> Bridge:
    """Returns each run's number in the new judge's scale, and what becomes of ranks.

    ``old`` and ``new`` are the metrics of the rows. A row of the new judge says how its
    answer was drawn. Raises UsageError if a judge has no rows.
    """
    runs = _verdicts_by_run(rows, old, new)
    refused, samples = _refusal(runs, assume_random=assume_random)
    if refused:
        return Bridge(refused=refused, samples=samples)

    samples_of_all: set[str] = set()
    known_clusters: dict[str, None] = {}
    for verdicts in runs:
        samples_of_all |= verdicts.samples
        for row in verdicts.old.values():
            known_clusters[row.cluster_name] = None
    clusters = list(known_clusters)
    bridged: list[BridgedRun] = []
    arrays: dict[str, RatedTrials] = {}
    for verdicts in runs:
        why = _why_without_number(verdicts, samples_of_all)
        estimate = None
        if not why:
            arrays[verdicts.run] = _arrays(verdicts, clusters)
            estimate = corrected_mean(arrays[verdicts.run])
        bridged.append(_bridged_run(verdicts, estimate, clusters, why))
    return Bridge(
        runs=tuple(bridged),
        pairs=_pairs(bridged, arrays),
        homogeneity=homogeneity(_joint_shifts(runs)),
    )


def _verdicts_by_run(rows: Iterable[ScoreRow], old: str, new: str) -> list[_Verdicts]:
    all_rows = list(rows)
    known = dict.fromkeys(row.metric for row in all_rows)
    if old == new:
        raise UsageError(f"--from and --to both name {old!r}")
    for judge in (old, new):
        if judge not in known:
            raise UsageError(
                f"no row has a verdict of {judge!r}{did_you_mean(judge, known)}",
                name=judge,
                known=known,
            )
    both = [row for row in all_rows if row.metric in (old, new)]
    verdicts = []
    for run in sorted({row.run for row in both}):
        rows_of_run = [row for row in both if row.run == run]
        by_old = _by_trial(rows_of_run, old)
        by_new = _by_trial(rows_of_run, new)
        verdicts.append(_Verdicts(run, by_old, by_new))
    return verdicts


def _by_trial(rows: Iterable[ScoreRow], metric: str) -> dict[str, ScoreRow]:
    return {row.trial: row for row in rows if row.metric == metric}


def _refusal(
    runs: Sequence[_Verdicts], *, assume_random: bool
) -> tuple[str, tuple[str, ...]]:
    """Returns why nothing can be carried over, and the samples at fault."""
    other_answers: dict[str, None] = {}
    other_questions: dict[str, None] = {}
    is_random = True
    for verdicts in runs:
        for name, row in verdicts.new.items():
            is_random &= row.value is None or row.draw.is_random
            before = verdicts.old.get(name)
            if before is None:
                continue
            if _differ(before.digest, row.digest):
                other_answers[row.sample_name] = None
            if _differ(before.question, row.question):
                other_questions[row.sample_name] = None
    if other_answers:
        return OTHER_ANSWERS, tuple(other_answers)
    if other_questions:
        return OTHER_QUESTIONS, tuple(other_questions)
    if not is_random and not assume_random:
        return NOT_RANDOM, ()
    return "", ()


def _differ(a: str, b: str) -> bool:
    """Returns True if both are stated, and not equal."""
    return bool(a and b) and a != b


def _why_without_number(verdicts: _Verdicts, samples: set[str]) -> str:
    """Returns why a run has no number. ``samples`` are those of all runs: a run must
    not win because its hard samples lack a verdict."""
    if verdicts.samples != samples:
        return OLD_MISSING
    for name in verdicts.new:
        if name not in verdicts.old:
            return OLD_MISSING
    for row in verdicts.old.values():
        if row.value is None:
            return OLD_MISSING
    asked_clusters = {verdicts.old[name].cluster_name for name in verdicts.asked}
    if len(verdicts.asked) < FEWEST_VERDICTS or len(asked_clusters) < 2:
        return TOO_FEW
    return ""


def _arrays(verdicts: _Verdicts, clusters: Sequence[str]) -> RatedTrials:
    """Returns the arrays in which the new judge's verdicts are the rare values, and the
    old judge's are the proxy."""
    rows = list(verdicts.old.values())
    new_values = np.full(len(rows), np.nan)
    weights = np.ones(len(rows))
    for place, row in enumerate(rows):
        verdict = verdicts.new.get(row.trial)
        if verdict is not None and verdict.value is not None:
            new_values[place] = verdict.value
            weights[place] = 1 / (verdict.draw.probability or 1.0)
    return RatedTrials(
        proxies=np.array([[row.value] for row in rows], dtype=float),
        human=new_values,
        weights=weights,
        strata=np.zeros(len(rows), dtype=np.intp),
        clusters=numbered([row.cluster_name for row in rows], clusters),
    )


def _bridged_run(
    verdicts: _Verdicts,
    estimate: Estimate | None,
    clusters: Sequence[str],
    why: str,
) -> BridgedRun:
    old_values = []
    for row in verdicts.old.values():
        if row.value is not None:
            old_values.append(row.value)
    shifts = _shifts(verdicts)
    shift = None
    if shifts:
        values = np.array(list(shifts.values()))
        of_shifts = [verdicts.old[name].cluster_name for name in shifts]
        shift = clustered_mean(values, numbered(of_shifts, clusters))
    return BridgedRun(
        run=verdicts.run,
        samples=len(verdicts.samples),
        asked=len(verdicts.asked),
        old=float(np.mean(old_values)) if old_values else None,
        new=estimate,
        shift=shift,
        why=why,
        trials=len(verdicts.old),
    )


def _shifts(verdicts: _Verdicts) -> dict[str, float]:
    """Returns new minus old for each trial that both judged."""
    shifts = {}
    for name in verdicts.asked:
        before = verdicts.old.get(name)
        after = verdicts.new[name].value
        if before is not None and before.value is not None and after is not None:
            shifts[name] = after - before.value
    return shifts


def _joint_shifts(runs: Sequence[_Verdicts]) -> Values:
    """Returns the mean shifts of the clusters that have one in every run: a row for
    each cluster, a column for each run."""
    columns: list[dict[str, list[float]]] = []
    for verdicts in runs:
        column: dict[str, list[float]] = {}
        for name, shift in _shifts(verdicts).items():
            column.setdefault(verdicts.old[name].cluster_name, []).append(shift)
        columns.append(column)
    joint = []
    for cluster in columns[0]:
        if all(cluster in column for column in columns):
            means = [float(np.mean(column[cluster])) for column in columns]
            joint.append(means)
    return np.array(joint, dtype=float).reshape(len(joint), len(runs))


def _pairs(
    runs: Sequence[BridgedRun], arrays: Mapping[str, RatedTrials]
) -> tuple[BridgedPair, ...]:
    tested: list[tuple[BridgedRun, BridgedRun, Difference]] = []
    for a, b in combinations(runs, 2):
        if a.new is not None and b.new is not None:
            between = difference(arrays[a.run], a.new, arrays[b.run], b.new)
            tested.append((a, b, between))
    adjusted = corrected([between.p for _, _, between in tested], "holm")
    pairs = []
    for (a, b, between), p_adjusted in zip(tested, adjusted, strict=True):
        old = (b.old or 0.0) - (a.old or 0.0)
        pairs.append(BridgedPair(a.run, b.run, old, between, p_adjusted))
    return tuple(pairs)


def _run_json(run: BridgedRun) -> dict[str, Any]:
    row: dict[str, Any] = {
        "run": run.run,
        "samples": run.samples,
        "asked": run.asked,
        "old": run.old,
        "new": None,
        "shift": None if run.shift is None else run.shift.to_json(),
    }
    if run.new is not None:
        row["new"] = {**run.new.to_json(), "lambda": run.new.weights[0]}
    if run.why:
        row["why"] = run.why
    return row


def _pair_json(pair: BridgedPair) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "old": pair.old,
        "new": pair.new.value,
        "ci95": pair.new.ci95,
        "p": pair.new.p,
        "p_adjusted": pair.p_adjusted,
        "verdict": pair.verdict,
    }
