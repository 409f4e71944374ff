"""MME-Unify: whether the answer's picture is nearest to the right candidate."""

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
    Tie,
    VectorOrError,
    candidates_of,
    embedded_together,
    first_unknown,
    pictures_in,
    similarities,
    wins,
)

Script: TypeAlias = Literal["csq", "al", "sd", "iee"]


def _fault(sample: Sample, _switches: object = None) -> str:
    if len(sample.candidates) > 1:
        return ""
    return "the sample needs candidates, with the right picture first"


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
    """1 if the answer's picture is nearest to the first candidate, by CLIP, else 0.

    Range 0 to 1, higher is better. An answer without exactly one picture, or with a
    damaged picture, is wrong, with the reason as evidence. Unscored if a candidate's
    picture is missing or damaged.

    ``model`` and ``vectors`` are as in ``clip_image_similarity``. ``tie`` decides what
    happens if the first candidate and another are equally near: the answer is
    ``wrong``, or the ``first`` wins. ``files: released`` treats bad files as the
    authors' script for the task does. ``script`` names this script. A damaged picture
    has the similarity 0 to all candidates, so the first candidate wins, except in
    ``iee``. In ``al`` a missing picture is treated like a damaged one. A damaged
    candidate has the similarity 0. A missing candidate makes the answer wrong. In
    ``csq`` only a missing first candidate does, and other missing candidates are left
    out. In ``iee`` an answer without a text is wrong. Evidence: the cosine with each
    candidate.

    Not measured: quality. The picture only has to be nearer to the first candidate
    than to the others.
    """
    embed = embedder(model, vectors)
    is_released = files == "released"
    items = [_comparison(trial, script, released=is_released) for trial in trials]
    groups = [item.media for item in items if isinstance(item, _Comparison)]
    embeddings = iter(embedded_together(embed, groups))
    scores = []
    for item in items:
        if isinstance(item, _Comparison):
            scores.append(_score(item, next(embeddings), script, tie, files))
        else:
            scores.append(item)
    return scores


class _Comparison(NamedTuple):
    """The pictures to compare.

    ``answer`` is None if the file of the answer's picture is missing, but the script
    scores the answer anyway, with cosines of 0.
    """

    answer: Media | None
    candidates: Sequence[Media]

    @property
    def media(self) -> list[Media]:
        if self.answer is None:
            return list(self.candidates)
        return [self.answer, *self.candidates]


def _comparison(
    trial: Trial,
    script: Script,
    *,
    released: bool,
) -> _Comparison | Score:
    """Returns the pictures to compare, or else the trial's score."""
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
    return _Comparison(pictures[0], known)


def _score(
    comparison: _Comparison,
    embeddings: Sequence[VectorOrError],
    script: Script,
    tie: Tie,
    files: str,
) -> Score:
    if comparison.answer is None:
        cosines = [0.0] * len(comparison.candidates)
        return Score(float(wins(cosines, 0, tie)), evidence={"cosines": cosines})
    answer, *candidates = embeddings
    is_followed = files == "released" and script != "iee"
    if isinstance(answer, ContentError):
        is_damaged = isinstance(answer, CorruptMediaError)
        if not (is_damaged and is_followed):
            return undecodable(comparison.answer, answer)
    error = first_unknown(candidates, damaged=files == "strict")
    if error is not None:
        return Score.unscored(f"a candidate: {error}")
    cosines = similarities(answer, candidates)
    return Score(float(wins(cosines, 0, tie)), evidence={"cosines": cosines})
