"""Semantic correctness (SC): a judge compares the captioned answer and reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from mmeval.media import Interleaved, PartKind
from mmeval.metric import metric
from mmeval.metric.judge import Combine, Question, Repeats, ask_verdicts
from mmeval.metrics.judged.captions.captioned import missing_caption_score
from mmeval.metrics.judged.captions.captioning import CaptionPrompt, caption_contents
from mmeval.metrics.judged.captions.released import domain_of
from mmeval.metrics.judged.material import as_the_reference
from mmeval.metrics.judged.reading import Reading
from mmeval.metrics.judged.unim_grades import (
    LOWEST,
    SCORE,
    score_form,
    share,
    share_form,
)
from mmeval.program import JudgePrompt, Program, PromptFile, PromptValue, Role
from mmeval.records import Sample, Score, Trial

CAPTIONED_REFERENCE = "captioned_reference"
"""The label with a reference that the data set has captioned."""


class ReferenceSource(NamedTuple):
    """The reference of an answer: a text, or content that needs captions.

    ``origin`` names its source in the evidence.
    """

    origin: str
    text: str = ""
    content: Interleaved | None = None


def reference_of(sample: Sample) -> ReferenceSource | None:
    """Returns the reference of a sample, or None if it is missing or empty."""
    text = sample.metadata.get(CAPTIONED_REFERENCE)
    if isinstance(text, str) and text.strip():
        return ReferenceSource(f"the label {CAPTIONED_REFERENCE}", text)
    if sample.references and not (first := sample.references[0]).empty:
        return ReferenceSource("the first reference", content=first)
    return None


def _fault(sample: Sample, _switches: Mapping[str, Any]) -> str:
    if reference_of(sample) is not None:
        return ""
    return f"the sample has no reference, and no text under {CAPTIONED_REFERENCE!r}"


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
        PromptValue, JudgePrompt("candidate", "reference", form=False)
    ] = "semantic_correctness",
    caption_image: CaptionPrompt = "caption_image",
    caption_audio: CaptionPrompt = "caption_audio",
    caption_video: CaptionPrompt = "caption_video",
    caption_document: CaptionPrompt = "caption_document",
    caption_3d: CaptionPrompt = "caption_3d",
) -> Program[Score]:
    """A judge's grade of how well the answer's meaning matches the reference.

    Range 0 to 1, higher is better: a grade from 1 to 5 becomes ``(grade - 1) / 4``. The
    judge reads the answer and the reference, in which captions replace the media. It
    does not see the question. The reference is the row's label ``captioned_reference``,
    or the first reference, captioned like the answer. A placeholder without a medium in
    the reference is kept unchanged, with its caption from the row. An empty answer gets
    grade 1 without a judge call.

    The answer is unscored without a reference. It is unscored, with bounds 0 and 1, if
    a caption or the verdict is lost. ``prompt`` selects the judge's policy:
    ``semantic_correctness`` (strict) or ``semantic_correctness_intent_aware``, which
    also accepts another valid answer to the question. With ``--prompts released``,
    ``semantic_correctness_shares`` selects the policy of an earlier suite, whose reply
    is the share itself. ``reading: official`` also reads
    a digit in a reply in prose. ``repeats`` is the number of judge calls, and
    ``combine`` (``mean``, ``median`` or ``majority``) combines them into one grade. The
    switches ``caption_...`` are the captioner's prompts. Evidence: ``score`` (the
    grade), the judge's reason, the ``captions`` of the answer, and the origin of the
    ``reference``, with its captions if the metric made them.

    Labels, for example: ``{"captioned_reference": "A hare: <<image1: a brown
    hare>>"}``.
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
    prompts: Mapping[PartKind, PromptValue] = {
        "image": caption_image,
        "audio": caption_audio,
        "video": caption_video,
        "document": caption_document,
        "3d": caption_3d,
    }
    data: list[Interleaved] = []
    if reference.content is not None:
        data.append(reference.content)
    candidate, *others = yield from caption_contents(
        [trial.output],
        captioner,
        prompts,
        data=data,
        subject=domain_of(trial.sample),
    )
    origin: dict[str, Any] = {
        "captions": candidate.evidence,
        "reference": reference.origin,
    }
    reference_text = reference.text
    if others:
        reference_text = others[0].text
        if others[0].captions:
            origin["reference_captions"] = others[0].evidence
    contents = {"answer": [candidate], "reference": others}
    if unscored := missing_caption_score(contents, origin):
        return unscored
    values = {"candidate": candidate.text, "reference": reference_text}
    states_share = PromptFile.of(prompt).released_call.get("reply") == "share"
    form = share_form(reading) if states_share else score_form(reading)
    questions = [Question(judge, form, prompt, values)]
    (verdict,) = yield from ask_verdicts(questions, repeats=repeats, combine=combine)
    evidence = {**verdict.evidence, **origin}
    if verdict.unknown(SCORE):
        return replace(verdict.unscored(SCORE, bounds=(0.0, 1.0)), evidence=evidence)
    number = verdict.values[SCORE]
    return Score(number if states_share else share(number), evidence=evidence)
