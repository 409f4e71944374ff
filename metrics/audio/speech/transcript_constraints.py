"""Transcript constraints: whether the spoken words meet the row's constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from mmeval.errors import UsageError
from mmeval.media import Media
from mmeval.metric import metric
from mmeval.metrics.audio.clips import MODEL_NEEDS, decodable
from mmeval.metrics.audio.speech.transcription import (
    PROCESSOR,
    WHISPER,
    WHISPER_NAME,
    transcripts_of,
)
from mmeval.metrics.models import bound
from mmeval.metrics.produced import media_of, the_only_medium, wrong
from mmeval.metrics.text.constraints import Constraint, Missing, all_met, constraints_of
from mmeval.records import Sample, Score, Trial

ONLY = ""
"""The name of the only turn in an answer with one sound."""


class _TurnConstraints(NamedTuple):
    """The constraints on the words of each turn, and the number of turns."""

    turns: int
    constraints: Mapping[str, Sequence[Constraint]]


def _constraints_of_row(
    sample: Sample,
    constraint_key: str,
    order_key: str,
) -> _TurnConstraints:
    """Returns the constraints of a row. Raises UsageError for invalid labels."""
    label = sample.metadata.get(constraint_key)
    if not isinstance(label, Mapping):
        return _TurnConstraints(1, {ONLY: constraints_of(label)})
    order = sample.metadata.get(order_key)
    if not isinstance(order, (list, tuple)) or not order:
        raise UsageError(
            f"constraints by turn need the label {order_key!r} with a list of the "
            f"turns' speakers, not {order!r:.80}"
        )
    turns = set(map(str, range(len(order))))
    if not label or not turns.issuperset(map(str, label)):
        raise UsageError(
            f"the keys of constraints must be turns from 0 to {len(order) - 1}, not "
            f"{', '.join(map(str, label))!r:.80}"
        )
    constraints = {str(turn): constraints_of(rows) for turn, rows in label.items()}
    return _TurnConstraints(len(order), constraints)


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    try:
        _constraints_of_row(sample, switches["constraint_key"], switches["order_key"])
    except UsageError as error:
        return f"the row's label {switches['constraint_key']!r}: {error}"
    return ""


@metric(
    range=(0, 1),
    version="4",
    source="MMMG, Transcript Editing, Transcript Generation, Conversation; official: "
    "audio evaluators 54527db8",
    needs=MODEL_NEEDS,
    profiles={"official": {"lower_keywords": False, "missing": "empty_text"}},
    check=_fault,
    batch=8,
)
def transcript_constraints(
    trials: Sequence[Trial],
    *,
    model: Annotated[str | Mapping[str, Any], WHISPER] = WHISPER_NAME,
    processor: Annotated[str | Mapping[str, Any], PROCESSOR] = WHISPER_NAME,
    language: str = "english",
    constraint_key: str = "constraint",
    order_key: str = "order",
    lower_keywords: bool = True,
    missing: Missing = "zero",
) -> list[Score]:
    """The share of the row's constraints that Whisper's transcripts of sounds meet.

    Range 0 to 1, higher is better. The label has one of two forms. A constraint or a
    list of constraints (see ``text_constraints``) requires exactly one sound. The score
    is 1 if this sound meets all constraints, else 0. A mapping from the number of a
    turn, from 0, to such constraints requires a sound for each turn in the order of
    speakers. The score is then the mean over the turns with constraints. An answer with
    another number of sounds, or with a damaged sound, scores 0, with the ``reason`` as
    evidence. Unscored without an answer, and for labels of any other form.

    Not measured: voice, expression and quality. An error of Whisper counts as an
    error of the answer.

    Labels, for example: ``{"order": [0, 1, 0], "constraint": {"1": ["keyword_include",
    "kettle"]}}``.

    Switches:

    - ``model``, ``processor``, ``language``: as in ``transcript``.
    - ``constraint_key``: the label with the constraints.
    - ``order_key``: the label that lists the speaker of each turn.
    - ``lower_keywords``: as in ``text_constraints``.
    - ``missing``: an answer without a sound scores 0 (``zero``), or has an empty
      transcript (``empty_text``) that can meet constraints, as in the released scorer.

    Evidence: for each turn the transcript and each constraint.
    """
    switches = _ConstraintSwitches(constraint_key, order_key, lower_keywords, missing)
    sounds_of_trials = [switches.sounds(trial) for trial in trials]
    sounds: list[Media] = []
    for turns in sounds_of_trials:
        if not isinstance(turns, Score):
            sounds += turns.values()
    texts = transcripts_of(sounds, bound(model), bound(processor), language)
    scores: list[Score] = []
    for trial, turns in zip(trials, sounds_of_trials, strict=True):
        if isinstance(turns, Score):
            scores.append(turns)
        else:
            texts_of_turns = {turn: texts.pop(0) for turn in turns}
            scores.append(switches.score(trial, texts_of_turns))
    return scores


class _ConstraintSwitches(NamedTuple):
    """The switches that control how constraints are read."""

    constraint_key: str
    order_key: str
    lower_keywords: bool
    missing: Missing

    def sounds(self, trial: Trial) -> dict[str, Media] | Score:
        """Returns the sounds with constraints, keyed by turn, or else the score."""
        if trial.output is None:
            return Score.unscored("there is no answer to score")
        try:
            row_constraints = _constraints_of_row(
                trial.sample, self.constraint_key, self.order_key
            )
        except UsageError as error:
            return Score.unscored(f"the row's label {self.constraint_key!r}: {error}")
        sounds = media_of(trial.output, "audio")
        if ONLY in row_constraints.constraints:
            if not sounds and self.missing == "empty_text":
                # Official oddity (54527db8): an answer without sound has an empty
                # transcript. Such a transcript is short and does not contain any
                # keyword.
                return self.score(trial, {ONLY: ""})
            only = the_only_medium(trial, "audio", "sounds")
            return only if isinstance(only, Score) else _decodable({ONLY: only})
        if len(sounds) != row_constraints.turns:
            return wrong(
                f"the answer has {len(sounds)} sounds instead of one for each of "
                f"{row_constraints.turns} turns"
            )
        return _decodable(
            {turn: sounds[int(turn)] for turn in row_constraints.constraints}
        )

    def score(self, trial: Trial, texts: Mapping[str, str]) -> Score:
        row_constraints = _constraints_of_row(
            trial.sample, self.constraint_key, self.order_key
        ).constraints
        evidence: dict[str, Any] = {}
        met_count = 0
        for turn, constraints in row_constraints.items():
            met = all_met(texts[turn], constraints, lower_keywords=self.lower_keywords)
            met_count += met.met
            evidence[turn] = {"heard": texts[turn], "constraints": met.evidence}
        value = met_count / len(row_constraints)
        return Score(value, evidence=evidence.get(ONLY) or {"turns": evidence})


def _decodable(sounds: Mapping[str, Media]) -> dict[str, Media] | Score:
    for turn, sound in sounds.items():
        name = "" if turn == ONLY else f"turn {turn}"
        score = decodable(sound, name)
        if isinstance(score, Score):
            return score
    return dict(sounds)
