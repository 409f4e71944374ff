"""Semantic correctness (SC): a judge compares answer and reference in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from mmeval.media import Interleaved, PartKind
from mmeval.metric import metric
from mmeval.metric.judge import Combine, Question, Repeats, ask_verdicts
from mmeval.metrics.judged.captions.captioned import without_captions
from mmeval.metrics.judged.captions.captioning import CaptionPrompt, captioned_all
from mmeval.metrics.judged.material import as_the_reference
from mmeval.metrics.judged.reading import Reading
from mmeval.metrics.judged.unim_grades import LOWEST, SCORE, score_form, share
from mmeval.program import JudgePrompt, Program, Role, Written
from mmeval.records import Sample, Score, Trial

CAPTIONED_REFERENCE = "captioned_reference"
"""The label of a reference that the data set itself has captioned."""


class Reference(NamedTuple):
    """An answer's reference: text of ``origin`` (for evidence), or content to
    caption."""

    origin: str
    words: str = ""
    content: Interleaved | None = None


def reference_of(sample: Sample) -> Reference | None:
    """The reference of a sample; None without one, or for an empty one."""
    words = sample.metadata.get(CAPTIONED_REFERENCE)
    if isinstance(words, str) and words.strip():
        return Reference(f"the label {CAPTIONED_REFERENCE}", words)
    if sample.references and not (first := sample.references[0]).empty:
        return Reference("the first reference", content=first)
    return None


def _fault(sample: Sample, _switches: Mapping[str, Any]) -> str:
    if reference_of(sample) is not None:
        return ""
    return (
        "the sample has no reference to compare with, and no text under "
        f"{CAPTIONED_REFERENCE!r}"
    )


@metric(
    range=(0, 1),
    version="2",
    source="UniM, section 4.1 (SC)",
    profiles={"official": {"reading": "official"}},
    check=_fault,
    supposed=as_the_reference,
)
def semantic_correctness(
    trial: Trial,
    judge: Role,
    captioner: Role,
    *,
    reading: Reading = "robust",
    repeats: Repeats = 1,
    combine: Combine = "mean",
    prompt: Annotated[
        Written, JudgePrompt("candidate", "reference", form=False)
    ] = "semantic_correctness",
    caption_image: CaptionPrompt = "caption_image",
    caption_audio: CaptionPrompt = "caption_audio",
    caption_video: CaptionPrompt = "caption_video",
    caption_document: CaptionPrompt = "caption_document",
    caption_3d: CaptionPrompt = "caption_3d",
) -> Program[Score]:
    """How well the meaning matches: a judge's grade of 1 to 5, as ``(grade - 1) / 4``.

    Range 0 to 1, higher is better. The judge reads the answer and the reference with
    captions in the place of media, and never the question. The reference is the row's
    label ``captioned_reference`` as it is, else the first reference, captioned as the
    answer is; a placeholder in it that has no medium stays as it is written, with a
    caption that the row gives it. An empty answer has grade 1 without asking the judge.

    Unscored without a reference; within 0 and 1 where a caption or the verdict is lost.
    ``prompt`` names the judge's policy: ``semantic_correctness`` (strict) or
    ``semantic_correctness_intent_aware``, where another valid answer to the question
    counts. ``reading: official`` also takes a digit from a reply in words. With
    ``repeats`` the judge is asked as often, and ``combine`` makes one grade of it:
    ``mean``, ``median`` or ``majority``. The switches ``caption_...`` are the
    captioner's prompts. Evidence: ``score`` (the grade), the judge's reason, the
    ``captions`` of the answer, and where the ``reference`` comes from, with its
    captions if they were made here.
    """
    reference = reference_of(trial.sample)
    if reference is None:
        return Score.unscored(_fault(trial.sample, {}))
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    if trial.output.empty:
        return Score(
            share(LOWEST),
            evidence={SCORE: LOWEST, "reason": "the answer is empty", "captions": []},
        )
    prompts: Mapping[PartKind, Written] = {
        "image": caption_image,
        "audio": caption_audio,
        "video": caption_video,
        "document": caption_document,
        "3d": caption_3d,
    }
    data: list[Interleaved] = []
    if reference.content is not None:
        data.append(reference.content)
    candidate, *others = yield from captioned_all(
        [trial.output], captioner, prompts, data=data
    )
    seen: dict[str, Any] = {
        "captions": candidate.evidence,
        "reference": reference.origin,
    }
    words = reference.words
    if others:
        words = others[0].text
        if others[0].captions:
            seen["reference_captions"] = others[0].evidence
    if lost := without_captions({"answer": [candidate], "reference": others}, seen):
        return lost
    values = {"candidate": candidate.text, "reference": words}
    questions = [Question(judge, score_form(reading), prompt, values)]
    (verdict,) = yield from ask_verdicts(questions, repeats=repeats, combine=combine)
    evidence = {**verdict.evidence, **seen}
    if verdict.unknown(SCORE):
        return replace(verdict.unscored(SCORE, bounds=(0.0, 1.0)), evidence=evidence)
    return Score(share(verdict.values[SCORE]), evidence=evidence)
