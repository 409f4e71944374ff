"""Speakers: whether the answer has the requested voice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from mmeval.errors import ContentError
from mmeval.media import Media
from mmeval.metric import metric
from mmeval.metrics.audio.clips import MODEL_NEEDS, clip, decodable, the_only_decodable
from mmeval.metrics.audio.speech.voices import (
    GENDER_NAME,
    LONGEST_SECONDS,
    MALE_CLASS,
    SECONDS,
    SPEAKER_NAME,
    VOICE,
    genders_of,
    same_speaker_pairs,
    voices_of,
)
from mmeval.metrics.models import bound
from mmeval.metrics.produced import media_of, wrong
from mmeval.records import Sample, Score, Trial

Against = Literal["input", "reference", "turns"]


def _gender_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    key = switches["gender_key"]
    label = sample.metadata.get(key)
    if label in ("male", "female"):
        return ""
    return f"the row's label {key!r} must be male or female, not {label!r:.80}"


@metric(
    range=(0, 1),
    version="3",
    source="MMMG, tasks Voice Attribution and Multi-Lingual Speech; official: audio "
    "evaluators 54527db8",
    needs=MODEL_NEEDS,
    check=_gender_fault,
    batch=8,
)
def speaker_gender(
    trials: Sequence[Trial],
    *,
    model: Annotated[str | Mapping[str, Any], VOICE] = GENDER_NAME,
    seconds: float = SECONDS,
    male_class: int = MALE_CLASS,
    gender_key: str = "gender",
) -> list[Score]:
    """1 if the answer's voice has the gender in the sample's label, else 0.

    Range 0 to 1, higher is better. An answer scores 0, with the ``reason`` as evidence,
    unless it has exactly one sound that can be decoded. Unscored without an answer, or
    unless the label is ``male`` or ``female``.

    Not measured: what is said.

    Labels, for example: ``{"gender": "female"}``.

    Switches:

    - ``model``: a classifier of speech, by its name on the hub (about 1.3 GB) or as a
      folder.
    - ``seconds``: how much of the sound is used. A shorter sound is padded with
      silence.
    - ``male_class``: the number of the model's class for men.
    - ``gender_key``: the label.

    Evidence: the detected gender (``heard``), and the model's ``certainty``.
    """
    sounds = [the_only_decodable(trial) for trial in trials]
    only = [sound for sound in sounds if isinstance(sound, Media)]
    voices = iter(
        genders_of(only, bound(model), seconds=seconds, male_class=male_class)
    )
    scores: list[Score] = []
    for trial, sound in zip(trials, sounds, strict=True):
        if isinstance(sound, Score):
            scores.append(sound)
            continue
        voice = next(voices)
        evidence: dict[str, Any] = {"heard": voice.gender, "certainty": voice.certainty}
        if fault := _gender_fault(trial.sample, {"gender_key": gender_key}):
            scores.append(Score.unscored(fault, **evidence))
        else:
            fits = voice.gender == trial.sample.metadata[gender_key]
            scores.append(Score(float(fits), evidence=evidence))
    return scores


def _voice_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    if switches["against"] != "turns":
        data_sound = _data_sound(sample, switches["against"])
        return data_sound.reason if isinstance(data_sound, Score) else ""
    key = switches["order_key"]
    order: Any = sample.metadata.get(key)
    is_list = isinstance(order, (list, tuple)) and len(order) > 0
    if is_list and all(isinstance(speaker, (int, str)) for speaker in order):
        return ""
    return f"the row's label {key!r} must be a list of speakers, not {order!r:.80}"


@metric(
    range=(0, 1),
    version="3",
    source="MMMG, tasks Voice Replication and Conversation; official: audio evaluators "
    "54527db8",
    needs=MODEL_NEEDS,
    check=_voice_fault,
    batch=8,
)
def speaker_similarity(
    trials: Sequence[Trial],
    *,
    model: Annotated[str | Mapping[str, Any], VOICE] = SPEAKER_NAME,
    against: Against = "input",
    threshold: float = 0.93,
    seconds: float = LONGEST_SECONDS,
    order_key: str = "order",
) -> list[Score]:
    """1 if voices that should be one person's have cosines above a threshold, else 0.

    Range 0 to 1, higher is better. An answer without the required sounds, or with a
    damaged sound, scores 0, with the ``reason`` as evidence. Unscored without an answer
    or the label, and if the sample's own sound is missing or damaged.

    Not measured: what is said.

    Switches:

    - ``against``: the sounds that are compared.

      - ``input``: the answer's only sound with the first sound of the input.
      - ``reference``: the answer's only sound with the first sound of the first
        reference.
      - ``turns``: the answer's sounds with each other, for every two turns of the same
        speaker. The answer must have a sound for each turn. Different speakers need not
        have different voices.

    - ``model``: an x-vector model, by its name on the hub (about 0.4 GB) or as a
      folder. It processes each sound separately. The released scorer pads eight sounds
      to one length, so its numbers depend on the other sounds.
    - ``threshold``: 0.93 in every released scorer, but 0.86 in the paper.
    - ``seconds``: how much of each sound is used. The memory that the model needs grows
      with the square of this.
    - ``order_key``: the label that lists the speaker of each turn, such as
      ``[0, 1, 0]``.

    Evidence: the cosine of each pair, and the threshold.
    """
    switches = {"against": against, "order_key": order_key}
    pairs_of_trials = [_pairs(trial, switches) for trial in trials]
    sounds: list[Media] = []
    for pairs in pairs_of_trials:
        if not isinstance(pairs, Score):
            for first, second in pairs.values():
                sounds += [first, second]
    vectors = voices_of(sounds, bound(model), seconds=seconds)
    voices = {sound.sha256: voice for sound, voice in zip(sounds, vectors, strict=True)}
    scores: list[Score] = []
    for pairs in pairs_of_trials:
        if isinstance(pairs, Score):
            scores.append(pairs)
            continue
        cosines: dict[str, float] = {}
        for name, (first, second) in pairs.items():
            cosines[name] = float(voices[first.sha256] @ voices[second.sha256])
        passes = all(cosine > threshold for cosine in cosines.values())
        evidence = {"cosines": cosines, "threshold": threshold}
        scores.append(Score(float(passes), evidence=evidence))
    return scores


def _pairs(
    trial: Trial, switches: Mapping[str, Any]
) -> dict[str, tuple[Media, Media]] | Score:
    """Returns the pairs of sounds that should have the same voice.

    The keys are the names of the pairs in the evidence.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    if fault := _voice_fault(trial.sample, switches):
        return Score.unscored(fault)
    if switches["against"] == "turns":
        order = trial.sample.metadata[switches["order_key"]]
        return _pairs_of_turns(media_of(trial.output, "audio"), order)
    answer = the_only_decodable(trial)
    if isinstance(answer, Score):
        return answer
    data_sound = _data_sound(trial.sample, switches["against"])
    if isinstance(data_sound, Score):
        return data_sound
    return {switches["against"]: (answer, data_sound)}


def _pairs_of_turns(
    sounds: Sequence[Media], order: Sequence[Any]
) -> dict[str, tuple[Media, Media]] | Score:
    if len(sounds) != len(order):
        return wrong(
            f"the answer has {len(sounds)} sounds instead of one for each of "
            f"{len(order)} turns"
        )
    for turn, sound in enumerate(sounds):
        score = decodable(sound, f"turn {turn}")
        if isinstance(score, Score):
            return score
    pairs: dict[str, tuple[Media, Media]] = {}
    for first, second in same_speaker_pairs(order):
        pairs[f"{first}-{second}"] = sounds[first], sounds[second]
    return pairs


def _data_sound(sample: Sample, against: str) -> Media | Score:
    """Returns the sample's sound with the right voice, or an unscored score."""
    contents = list(sample.references[:1])
    if against == "input":
        contents = [message.content for message in sample.input]
    sounds: list[Media] = []
    for content in contents:
        sounds += content.media("audio")
    if not sounds:
        return Score.unscored(f"the sample's {against} has no sound to compare with")
    try:
        clip(sounds[0])
    except ContentError as error:
        return Score.unscored(str(error))
    return sounds[0]
