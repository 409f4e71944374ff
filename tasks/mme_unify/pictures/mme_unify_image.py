"""MME-Unify: is the answer's picture the right one among wrong ones?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from mmeval.errors import ContentError, CorruptMediaError
from mmeval.media import Media
from mmeval.metric import metric
from mmeval.metrics.image.networks.clip import CLIP_B32, clip_needs, embedder
from mmeval.metrics.produced import media_of, undecodable, wrong
from mmeval.records import Sample, Score, Trial
from mmeval.system import PathOrName
from mmeval.tasks.mme_unify.pictures.verdict import (
    Model,
    Seen,
    Tie,
    candidates_of,
    first_unknown,
    pictures_in,
    seen_together,
    similarities,
    wins,
)

Script: TypeAlias = Literal["csq", "al", "sd", "iee"]


def _fault(sample: Sample, _switches: object = None) -> str:
    if len(sample.candidates) > 1:
        return ""
    return "the sample has no candidates, of which the first is the right picture"


@metric(
    range=(0, 1),
    version="2",
    source="MME-Unify, section 3.3 and the released scripts",
    needs=clip_needs,
    profiles={"official": {"tie": "first", "files": "released"}},
    check=_fault,
    batch=4,
)
def mme_unify_image(
    trials: Sequence[Trial],
    *,
    script: Script = "csq",
    model: Model = CLIP_B32,
    tie: Tie = "wrong",
    files: Literal["strict", "released"] = "strict",
    vectors: PathOrName = "",
) -> list[Score]:
    """1 when the answer's picture is nearest to the first candidate, by CLIP, else 0.

    An answer that has not exactly one picture, or one that is damaged, is wrong,
    with the reason as evidence. Unscored where a candidate's picture is missing or
    damaged.

    Switches: ``model`` and ``vectors`` as for ``clip_image_similarity``; ``tie``: where
    the first candidate and another are equally near, it is ``wrong``, or the ``first``
    wins; ``files: released``, as the authors' script of the task does, to which
    ``script`` belongs: a picture that is damaged has the similarity 0 to all
    candidates, so that the first wins (not in ``iee``), and so does one whose file is
    missing in ``al``. A candidate that is damaged has the similarity 0. One
    whose file is missing makes the answer wrong, in ``csq`` only the first; the others
    are left out there. In ``iee`` an answer without a text is wrong. Evidence: the
    cosine with each candidate.
    """
    embed = embedder(model, vectors)
    asked = [_asked(trial, script, released=files == "released") for trial in trials]
    groups = [one.media for one in asked if isinstance(one, _Asked)]
    seen = iter(seen_together(embed, groups))
    scores = []
    for one in asked:
        if isinstance(one, _Asked):
            scores.append(_score(one, next(seen), script, tie, files))
        else:
            scores.append(one)
    return scores


class _Asked(NamedTuple):
    """``answer`` is None where its file is missing, and the script compares it
    nevertheless."""

    answer: Media | None
    candidates: Sequence[Media]

    @property
    def media(self) -> list[Media]:
        if self.answer is None:
            return list(self.candidates)
        return [self.answer, *self.candidates]


def _asked(
    trial: Trial,
    script: Script,
    *,
    released: bool,
) -> _Asked | Score:
    """The pictures to compare, or the score of a trial without them."""
    fault = _fault(trial.sample)
    if trial.output is None or fault:
        return Score.unscored(fault or "there is no answer to score")
    candidates = candidates_of(trial.sample)
    known = [candidate for candidate in candidates if candidate is not None]
    if len(known) < len(candidates):
        reason = "the file of a candidate's picture is missing"
        if not released or script != "csq" or candidates[0] is None:
            return wrong(reason) if released else Score.unscored(reason)
    parts = trial.output.parts
    if released and script == "iee" and all(part.kind != "text" for part in parts):
        return wrong("the answer has no explanation")
    pictures: list[Media | None] = list(media_of(trial.output, "image"))
    pictures += [None for part in pictures_in(parts) if part.media is None]
    if len(pictures) != 1:
        return wrong(f"the answer has {len(pictures)} pictures, not exactly one")
    if pictures[0] is None and not (released and script == "al"):
        return wrong("the file of the answer's picture is missing")
    return _Asked(pictures[0], known)


def _score(
    asked: _Asked, seen: Sequence[Seen], script: Script, tie: Tie, files: str
) -> Score:
    if asked.answer is None:
        found = [0.0] * len(asked.candidates)
        return Score(float(wins(found, 0, tie)), evidence={"cosines": found})
    answer, *candidates = seen
    is_followed = files == "released" and script != "iee"
    if isinstance(answer, ContentError):
        is_damaged = isinstance(answer, CorruptMediaError)
        if not (is_damaged and is_followed):
            return undecodable(asked.answer, answer)
    lost = first_unknown(candidates, damaged=files == "strict")
    if lost is not None:
        return Score.unscored(f"a candidate: {lost}")
    found = similarities(answer, candidates)
    return Score(float(wins(found, 0, tie)), evidence={"cosines": found})
