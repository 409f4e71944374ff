"""Transcript constraints: do the answer's spoken words meet the row's constraints?"""

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
"""The name of the turn of an answer with one sound."""


class _Asked(NamedTuple):
    """The constraints on the words by turn, and how many turns there are."""

    turns: int
    constraints: Mapping[str, Sequence[Constraint]]


def _asked(sample: Sample, constraint_key: str, order_key: str) -> _Asked:
    """The constraints of a row. Raises UsageError for labels that hold none."""
    label = sample.metadata.get(constraint_key)
    if not isinstance(label, Mapping):
        return _Asked(1, {ONLY: constraints_of(label)})
    order = sample.metadata.get(order_key)
    if not isinstance(order, (list, tuple)) or not order:
        raise UsageError(
            "constraints by turn take a list of the turns' speakers under "
            f"{order_key!r}, not {order!r:.80}"
        )
    turns = {str(turn) for turn in range(len(order))}
    if not label or not all(str(turn) in turns for turn in label):
        raise UsageError(
            f"constraints are by turn, from 0 to {len(order) - 1}, not by "
            f"{', '.join(map(str, label))!r:.80}"
        )
    return _Asked(
        len(order), {str(turn): constraints_of(one) for turn, one in label.items()}
    )


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    try:
        _asked(sample, switches["constraint_key"], switches["order_key"])
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

    Range 0 to 1, higher is better. The label under ``constraint_key`` is a constraint
    or a list of them (see ``text_constraints``), which are met together: then the
    answer must have exactly one sound, and is 0 or 1. Or it maps the numbers of turns,
    from 0, to such labels: then the answer must have as many sounds as the label
    ``order_key`` has speakers, and the mean over those turns counts. An answer with
    another number of sounds, or with one that is damaged, is 0, with the reason
    as evidence. Unscored without an answer, and where the labels are none of this.

    Switches: ``model``, ``processor`` and ``language`` are those of ``transcript``,
    ``lower_keywords`` that of ``text_constraints``. ``missing`` says what an answer
    without any sound is where one is wanted: ``zero``, or ``empty_text`` as in the
    released scorer, where a missing sound is an empty text, which excludes all keywords
    and is short. Evidence: by turn, the transcript and each constraint.
    """
    rule = _Rule(constraint_key, order_key, lower_keywords, missing)
    found = [rule.sounds(trial) for trial in trials]
    sounds = [
        sound for one in found if not isinstance(one, Score) for sound in one.values()
    ]
    heard = dict(
        zip(
            [sound.sha256 for sound in sounds],
            transcripts_of(sounds, bound(model), bound(processor), language),
            strict=True,
        )
    )
    return [
        one
        if isinstance(one, Score)
        else rule.score(trial, {turn: heard[s.sha256] for turn, s in one.items()})
        for trial, one in zip(trials, found, strict=True)
    ]


class _Rule(NamedTuple):
    """The switches that say how constraints are read."""

    constraint_key: str
    order_key: str
    lower_keywords: bool
    missing: Missing

    def sounds(self, trial: Trial) -> dict[str, Media] | Score:
        """The sounds with constraints, by turn, or the score of a trial without
        them."""
        if trial.output is None:
            return Score.unscored("there is no answer to score")
        try:
            asked = _asked(trial.sample, self.constraint_key, self.order_key)
        except UsageError as error:
            return Score.unscored(f"the row's label {self.constraint_key!r}: {error}")
        sounds = media_of(trial.output, "audio")
        if not sounds and ONLY in asked.constraints and self.missing == "empty_text":
            return self._official_empty_text(trial)
        if ONLY in asked.constraints:
            only = the_only_medium(trial, "audio", "sounds")
            return only if isinstance(only, Score) else _decodable({ONLY: only})
        if len(sounds) != asked.turns:
            return wrong(
                f"the answer has {len(sounds)} sounds, not {asked.turns}, one for "
                "each turn"
            )
        return _decodable({turn: sounds[int(turn)] for turn in asked.constraints})

    def _official_empty_text(self, trial: Trial) -> Score:
        """Official oddity (54527db8): an answer without sound has an empty transcript.
        It is short and excludes every keyword."""
        return self.score(trial, {ONLY: ""})

    def score(self, trial: Trial, heard: Mapping[str, str]) -> Score:
        asked = _asked(trial.sample, self.constraint_key, self.order_key).constraints
        found = {
            turn: all_met(heard[turn], asked[turn], lower_keywords=self.lower_keywords)
            for turn in asked
        }
        evidence = {
            turn: {"heard": heard[turn], "constraints": met.evidence}
            for turn, met in found.items()
        }
        value = sum(met.met for met in found.values()) / len(found)
        return Score(value, evidence=evidence.get(ONLY) or {"turns": evidence})


def _decodable(sounds: Mapping[str, Media]) -> dict[str, Media] | Score:
    for turn, sound in sounds.items():
        found = decodable(sound, "" if turn == ONLY else f"turn {turn}")
        if isinstance(found, Score):
            return found
    return dict(sounds)
