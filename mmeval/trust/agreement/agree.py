"""Compares a metric with people's ratings, and people among themselves.

agreement = agree(ratings, scores, AgreementOptions(metric="judge"))
agreement.exit_code, agreement.statistics["pearson"].ci95
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, UsageError, did_you_mean
from mmeval.trust.agreement.columns import paired_columns
from mmeval.trust.agreement.compared_trials import (
    BothValues,
    chosen_metric,
    compared_trials,
    compared_values,
)
from mmeval.trust.agreement.constant import ConstantJudge, constant_judge
from mmeval.trust.agreement.jackknife import AgreementStatistic
from mmeval.trust.agreement.measure import measure
from mmeval.trust.agreement.raters import (
    GoldShare,
    RaterAgreement,
    gold_shares,
    rater_agreement,
)
from mmeval.trust.human_values import HumanValue, kept_ratings, usual_human_value
from mmeval.trust.paired_trials import ratings_of_question
from mmeval.trust.pairs.judgements import Ties, has_pairs, judgements_of
from mmeval.trust.pairs.ranking import PairRanking, rank
from mmeval.trust.records import Rating, ScoreRow, Value

GOLD_FLOOR = 0.7


@dataclass(frozen=True)
class AgreementOptions:
    """What to compare, and how.

    ``metric`` may be empty if the scores have only one. ``human`` None is the usual way
    to combine raters, and ``question`` None the only one of the ratings. ``by`` is a
    label. A rater with a smaller share of right gold answers than ``gold_floor`` is
    named.
    """

    metric: str = ""
    human: HumanValue | None = None
    question: str | None = None
    by: str = ""
    macro: bool = False
    ties: Ties = "davidson"
    gold: Mapping[str, Value] = field(default_factory=dict)
    gold_floor: float = GOLD_FLOOR


@dataclass(frozen=True)
class AgreementSlice:
    """The agreement over some trials, by the name of the statistic."""

    trials: int
    clusters: int
    statistics: Mapping[str, AgreementStatistic]
    constant: ConstantJudge | None

    def to_json(self) -> dict[str, Any]:
        """Returns all fields."""
        row: dict[str, Any] = {
            "trials": self.trials,
            "clusters": self.clusters,
            "statistics": {},
            "constant": None,
        }
        for name, statistic in self.statistics.items():
            row["statistics"][name] = statistic.to_json()
        if self.constant is not None:
            row["constant"] = self.constant.to_json()
        return row


@dataclass(frozen=True)
class MacroMean:
    """The unweighted mean of a statistic over the slices that have one.

    ``without`` names the others.
    """

    value: float | None
    slices: int
    without: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns all fields."""
        return {
            "value": self.value,
            "of": self.slices,
            "without": list(self.without),
        }


@dataclass(frozen=True)
class Agreement:
    """All results. ``whole`` is None without scores, and ``pairs`` without pairs.

    ``given`` counts the lines, and ``ratings`` those that no later line replaces.
    """

    options: AgreementOptions
    metric: str
    human: HumanValue
    given: int
    ratings: int
    rated: int
    whole: AgreementSlice | None
    left_out: Mapping[str, int]
    slices: Mapping[str, AgreementSlice]
    raters: RaterAgreement
    pairs: PairRanking | None
    gold: Mapping[str, GoldShare]

    @property
    def macro(self) -> dict[str, MacroMean]:
        """The means over slices, by statistic."""
        return _macro(self.slices)

    @property
    def below_gold_floor(self) -> list[str]:
        """The raters with too few right gold answers."""
        floor = self.options.gold_floor
        return [name for name, gold in self.gold.items() if gold.share < floor]

    @property
    def exit_code(self) -> int:
        """0, or 3 if a ranking is refused."""
        is_refused = self.pairs is not None and bool(self.pairs.refused)
        return EXIT_INCOMPLETE if is_refused else EXIT_OK

    def to_json(self) -> dict[str, Any]:
        """Returns the output of ``mmeval agree --format json``."""
        document: dict[str, Any] = {
            "human": self.human,
            "given": self.given,
            "ratings": self.ratings,
        }
        if self.whole is not None:
            document["metric"] = self.metric
            document.update(self.whole.to_json())
            document["left_out"] = dict(self.left_out)
        if self.slices:
            document["by"] = {
                name: each.to_json() for name, each in self.slices.items()
            }
            document["macro"] = {
                name: each.to_json() for name, each in self.macro.items()
            }
        document["raters"] = self.raters.to_json()
        if self.pairs is not None:
            document["pairs"] = self.pairs.to_json()
        if self.gold:
            document["gold"] = {
                "raters": {
                    name: {
                        "trials": each.trials,
                        "right": each.right,
                        "share": each.share,
                    }
                    for name, each in self.gold.items()
                },
                "floor": self.options.gold_floor,
                "below": self.below_gold_floor,
            }
        return document


def agree(
    ratings: Iterable[Rating],
    scores: Sequence[ScoreRow],
    options: AgreementOptions,
) -> Agreement:
    """Returns the agreement of a metric with people, and of people among themselves.

    Without scores there is only the latter. Raises UsageError if the rows do not fit
    the options.
    """
    given = ratings_of_question(ratings, options.question)
    kept = kept_ratings(given)
    if not kept:
        raise UsageError("there are no ratings")
    counted = [rating for rating in kept if rating.pass_number == 1]
    how = options.human or usual_human_value(counted)
    metric = ""
    if scores or options.metric:
        metric = chosen_metric(scores, options.metric)
    trials = compared_trials(scores, kept, metric)
    values = compared_values(trials, how) if metric else None

    whole = None
    slices: dict[str, AgreementSlice] = {}
    if values is not None:
        whole = _slice(values.trials)
        if options.by:
            slices = _slices(values.trials, options.by)
    elif options.by:
        raise UsageError("--by needs scores; give --scores FILE or --run RUN")
    pairs = judgements_of(kept) if has_pairs(kept) else []
    return Agreement(
        options=options,
        metric=metric,
        human=how,
        given=len(given),
        ratings=len(kept),
        rated=sum(bool(trial.ratings) for trial in trials),
        whole=whole,
        left_out=values.left_out if values is not None else {},
        slices=slices,
        raters=rater_agreement(trials, kept, how),
        pairs=rank(pairs, options.ties) if pairs else None,
        gold=gold_shares(kept, options.gold),
    )


def _slice(trials: Sequence[BothValues]) -> AgreementSlice:
    human = [both.human for both in trials]
    clusters = [both.trial.cluster for both in trials]
    columns = paired_columns([both.score for both in trials], human, clusters)
    return AgreementSlice(
        trials=len(trials),
        clusters=len(set(clusters)),
        statistics=measure(columns),
        constant=constant_judge(human),
    )


def _slices(trials: Sequence[BothValues], label: str) -> dict[str, AgreementSlice]:
    members: dict[str, list[BothValues]] = {}
    known: dict[str, None] = {}
    for both in trials:
        labels = both.trial.labels
        known.update(dict.fromkeys(labels))
        if label in labels:
            members.setdefault(labels[label], []).append(both)
    if not members:
        raise UsageError(
            f"no trial has the label {label!r}{did_you_mean(label, known)}",
            name=label,
            known=known,
        )
    return {value: _slice(members[value]) for value in sorted(members)}


def _macro(slices: Mapping[str, AgreementSlice]) -> dict[str, MacroMean]:
    names: dict[str, None] = {}
    for each in slices.values():
        names.update(dict.fromkeys(each.statistics))
    means = {}
    for name in names:
        values = []
        without = []
        for value_of_label, each in slices.items():
            statistic = each.statistics.get(name)
            if statistic is None or statistic.value is None:
                without.append(value_of_label)
            else:
                values.append(statistic.value)
        mean = sum(values) / len(values) if values else None
        means[name] = MacroMean(mean, len(values), tuple(without))
    return means
