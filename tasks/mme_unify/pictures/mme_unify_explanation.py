"""MME-Unify: is the answer's explanation nearest to the right option?"""

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
    """Why no answer to a sample could be scored, or an empty text."""
    options, right = sample.metadata.get(CHOICE), sample.metadata.get(ANSWER)
    if not are_texts(options):
        return f"metadata {CHOICE!r} is no list of texts"
    if right not in _letters_of(options):
        return f"metadata {ANSWER!r} is no letter before an option"
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
    """1 when the answer's text is nearest to the right option, by CLIP, else 0.

    The options are compared whole, with the letters before them; of each text the first
    77 tokens count. An answer without a text is wrong.

    Switches: ``model``, ``tie`` and ``vectors`` as for ``mme_unify_image``;
    ``letters``: an option has the letter that is ``written`` before it, or, as in the
    released script, that of its place in the list, which is another one in most rows;
    ``sides: both``, as there: an answer without a picture is wrong too. Evidence: the
    cosine with each option.
    """
    embed = embedder(model, vectors)
    asked = [_words(trial, both=sides == "both") for trial in trials]
    texts: list[str] = []
    for trial, words in zip(trials, asked, strict=True):
        if not isinstance(words, Score):
            texts += [words, *trial.sample.metadata[CHOICE]]
    read = iter(embed.texts(texts))
    scores = []
    for trial, words in zip(trials, asked, strict=True):
        if isinstance(words, Score):
            scores.append(words)
            continue
        options, right = trial.sample.metadata[CHOICE], trial.sample.metadata[ANSWER]
        answer = next(read)
        found = cosines(answer, list(islice(read, len(options))))
        names = _letters_of(options) if letters == "written" else _LETTERS
        is_right = wins(found, names.index(right), tie)
        scores.append(Score(float(is_right), evidence={"cosines": found}))
    return scores


def _letters_of(options: Sequence[str]) -> list[str]:
    """The letter before each option; empty without one."""
    letters = []
    for option in options:
        letter = _LETTER.match(option)
        letters.append(letter[1] if letter else "")
    return letters


def _words(trial: Trial, *, both: bool) -> str | Score:
    """The text of the answer, or the score of a trial without one."""
    if fault := _fault(trial.sample):
        return Score.unscored(fault)
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    if both and not pictures_in(trial.output.parts):
        return wrong("the answer has no picture")
    if not trial.output.words.strip():
        return wrong("the answer has no explanation")
    return trial.output.words
