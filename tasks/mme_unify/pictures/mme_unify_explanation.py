"""MME-Unify: whether the answer's explanation is nearest to the right option."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Literal

from mmeval.metric import metric
from mmeval.metrics.image.networks.clip import CLIP_B32, clip_needs, cosines, embedder
from mmeval.metrics.produced import wrong
from mmeval.records import Sample, Score, Trial
from mmeval.system import PathOrName
from mmeval.tasks.mme_unify.mme_unify_choice import ANSWER, CHOICE, are_texts
from mmeval.tasks.mme_unify.pictures.verdict import Model, Tie, pictures_in, wins

_LETTER = re.compile(r"\W*([A-Z])")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _fault(sample: Sample, _switches: object = None) -> str:
    """Returns why a sample cannot be scored, or an empty string if it can."""
    options, right = sample.metadata.get(CHOICE), sample.metadata.get(ANSWER)
    if not are_texts(options):
        return f"metadata {CHOICE!r} is not a list of texts"
    if right not in _letters_of(options):
        return f"metadata {ANSWER!r} is not the letter before an option"
    return ""


@metric(
    range=(0, 1),
    version="1",
    source="MME-Unify, section 3.3 and the released script",
    needs=clip_needs,
    profiles={"official": {"tie": "first", "letters": "places", "sides": "both"}},
    check=_fault,
    batch=16,
)
def mme_unify_explanation(
    trials: Sequence[Trial],
    *,
    model: Model = CLIP_B32,
    tie: Tie = "wrong",
    letters: Literal["written", "places"] = "written",
    sides: Literal["alone", "both"] = "alone",
    vectors: PathOrName = "",
) -> list[Score]:
    """1 if the answer's text is nearest to the right option, by CLIP, else 0.

    Range 0 to 1, higher is better. An answer without a text is wrong. An option's text
    includes the letter before it. CLIP reads the first 77 tokens of each text. Unscored
    without options or a right letter.

    ``model``, ``tie`` and ``vectors`` are as in ``mme_unify_image``. With ``letters:
    written`` an option has the letter that is written before it. With ``letters:
    places`` it has the letter of its position in the list, as in the released script.
    In most rows these letters differ. With ``sides: both`` an answer without a picture
    is also wrong, as in the released script. Evidence: the cosine with each option.

    Not measured: whether the explanation is good. It only has to be nearer to the
    right option than to the others.
    """
    embed = embedder(model, vectors)
    answers = [_words(trial, both=sides == "both") for trial in trials]
    texts: list[str] = []
    for trial, answer in zip(trials, answers, strict=True):
        if not isinstance(answer, Score):
            texts += [answer, *trial.sample.metadata[CHOICE]]
    vectors_of_texts = iter(embed.texts(texts))
    scores = []
    for trial, answer in zip(trials, answers, strict=True):
        if isinstance(answer, Score):
            scores.append(answer)
            continue
        options, right_letter = (
            trial.sample.metadata[CHOICE],
            trial.sample.metadata[ANSWER],
        )
        answer_vector = next(vectors_of_texts)
        similarities = cosines(
            answer_vector, list(islice(vectors_of_texts, len(options)))
        )
        names = _letters_of(options) if letters == "written" else _LETTERS
        is_right = wins(similarities, names.index(right_letter), tie)
        scores.append(Score(float(is_right), evidence={"cosines": similarities}))
    return scores


def _letters_of(options: Sequence[str]) -> list[str]:
    """Returns the letter before each option, or an empty string if there is none."""
    letters = []
    for option in options:
        letter = _LETTER.match(option)
        letters.append(letter[1] if letter else "")
    return letters


def _words(trial: Trial, *, both: bool) -> str | Score:
    """Returns the text of the answer, or else the trial's score."""
    if fault := _fault(trial.sample):
        return Score.unscored(fault)
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    if both and not pictures_in(trial.output.parts):
        return wrong("the answer has no picture")
    if not trial.output.words.strip():
        return wrong("the answer has no explanation")
    return trial.output.words
