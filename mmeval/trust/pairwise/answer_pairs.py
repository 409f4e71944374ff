"""Pairs the answers of every two runs to the same sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from mmeval.comparison.compare import Failed
from mmeval.media.parts import Interleaved
from mmeval.metric.judge.verdict import shown
from mmeval.records.sample import Sample
from mmeval.trust.kept_answers import KeptAnswer, KeptTrial, kept_trials
from mmeval.trust.pairwise.players import Player

_TrialsBySample = dict[tuple[str, str], list[KeptTrial]]
"""The repeats of each sample, by the names of task and sample."""


@dataclass(frozen=True)
class AnswerPair:
    """The answers of two players to one sample.

    ``answer`` is that of ``a``. The first reference of its sample is that of ``b``.
    """

    a: str
    b: str
    answer: KeptAnswer
    cluster: str

    @property
    def sample_name(self) -> tuple[str, str]:
        """The names of the task and of the sample."""
        return self.answer.task, self.answer.sample.id


@dataclass(frozen=True)
class AnswerPairs:
    """The pairs of answers, and the number of pairs that are left out, by reason."""

    pairs: list[AnswerPair] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def pair_answers(
    players: Sequence[Player], tasks: Collection[str], failed: Failed
) -> AnswerPairs:
    """Returns the pairs of all players' answers to the samples of some tasks.

    The pair of a failed answer is left out, or the failed answer is an empty one.

    Samples are the same if their names and their questions are equal. The first answer
    of one player to a sample is paired with the first one of the other, and so on.
    """
    of_players = [_trials_of(player, tasks) for player in players]
    configs = players[0].runs[0].record["tasks"]
    result = AnswerPairs()
    both = list(combinations(range(len(players)), 2))
    for number, (first, second) in enumerate(both):
        for place, trials, others in _shared(of_players[first], of_players[second]):
            result.left_out["not_asked"] += abs(len(trials) - len(others))
            for repeat, (trial, other) in enumerate(zip(trials, others, strict=False)):
                reason = _reason(trial, other, failed)
                if reason:
                    result.left_out[reason] += 1
                    continue
                # each pair of a sample is a sample of its own
                index = trial.index * len(both) + number
                pair = AnswerPair(
                    a=players[first].name,
                    b=players[second].name,
                    answer=_joined(trial, other, index, repeat),
                    cluster=_cluster(trial, configs[place[0]]),
                )
                result.pairs.append(pair)
    return result


def _trials_of(player: Player, tasks: Collection[str]) -> _TrialsBySample:
    trials: _TrialsBySample = {}
    for run in player.runs:
        for trial in kept_trials(run, sorted(tasks)):
            place = (trial.task, trial.trial.sample.id)
            trials.setdefault(place, []).append(trial)
    return trials


def _shared(
    of_first: _TrialsBySample, of_second: _TrialsBySample
) -> Iterator[tuple[tuple[str, str], list[KeptTrial], list[KeptTrial]]]:
    """Yields the trials of two players for each sample. One of them may have none."""
    for place in {**of_first, **of_second}:
        yield place, of_first.get(place, []), of_second.get(place, [])


def _reason(trial: KeptTrial, other: KeptTrial, failed: Failed) -> str:
    """Returns why two answers are not paired, or an empty string."""
    if _question(trial.trial.sample) != _question(other.trial.sample):
        return "asked_otherwise"
    is_failed = trial.trial.output is None or other.trial.output is None
    return "failed" if is_failed and failed == "lost" else ""


def _question(sample: Sample) -> str:
    alone = Sample(sample.id, sample.input)
    return alone.digest


def _joined(trial: KeptTrial, other: KeptTrial, index: int, repeat: int) -> KeptAnswer:
    sample = trial.trial.sample
    references = (_visible(other), *sample.references)
    return KeptAnswer(
        task=trial.task,
        index=index,
        repeat=repeat,
        sample=replace(sample, references=references),
        output=_visible(trial),
    )


def _visible(trial: KeptTrial) -> Interleaved:
    """Returns the answer without hidden reasoning. A failed one is empty."""
    return shown(trial.trial.output)


def _cluster(trial: KeptTrial, config: Mapping[str, Any]) -> str:
    sample = trial.trial.sample
    label = sample.metadata.get(str(config.get("cluster_key")))
    cluster = sample.id if label is None else label
    return f"{trial.task}/{cluster}"
