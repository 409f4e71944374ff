"""Interleaved coherence (HC, SH, ICS): a judge grades how well parts fit together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from mmeval.media import PartKind
from mmeval.metric import MetricScores, metric
from mmeval.metric.judge import UNREAD, Combine, Question, Repeats, Verdict, combined
from mmeval.metrics.judged.captions.captioned import missing_caption_score
from mmeval.metrics.judged.captions.captioning import (
    CaptionForm,
    CaptionPrompt,
    caption_contents,
)
from mmeval.metrics.judged.captions.released import domain_of
from mmeval.metrics.judged.material import as_the_reference, question_content
from mmeval.metrics.judged.pictures.bounded_value import (
    BoundedValue,
    known_value,
    unknown_value,
    weighted_sum,
)
from mmeval.metrics.judged.reading import UNREADABLE, Reading
from mmeval.metrics.judged.unim_grades import (
    LOWEST,
    RAW,
    GradesForm,
    as_empty_reply,
    grades_form,
    is_partial_reply,
    raw_votes,
    share,
)
from mmeval.program import JudgePrompt, Program, PromptValue, Reply, Role, ask_all
from mmeval.records import Score, Trial
from mmeval.system import Share

JudgeFailure = Literal["exclude", "lowest"]
"""Effect of a missing grade: the trial is unscored, or it gets the lowest grade."""
COHERENCE, STYLE = "coherence", "style_consistency"
"""Keys of a reply."""
OUTPUTS = ("holistic_coherence", "stylistic_harmony", "interleaved_coherence")


@metric(
    range=(0, 1),
    version="3",  # official captions of pictures are short, those of sounds verbatim
    source="UniM, section 4.3 (HC, SH, ICS); official: "
    "evaluation/interleaved_coherence",
    outputs=OUTPUTS,
    profiles={
        "official": {
            "captions": "released",
            "reading": "official",
            "judge_failure": "lowest",
        }
    },
    supposed=as_the_reference,
)
def interleaved_coherence(
    trial: Trial,
    judge: Role,
    captioner: Role,
    *,
    weight: Share = 0.8,
    show_input: bool = False,
    captions: CaptionForm = "standard",
    reading: Reading = "robust",
    judge_failure: JudgeFailure = "exclude",
    repeats: Repeats = 1,
    combine: Combine = "mean",
    prompt: Annotated[
        PromptValue, JudgePrompt("answer", "input", form=False)
    ] = "interleaved_coherence",
    caption_image: CaptionPrompt = "caption_image",
    caption_audio: CaptionPrompt = "caption_audio",
    caption_video: CaptionPrompt = "caption_video",
    caption_document: CaptionPrompt = "caption_document",
    caption_3d: CaptionPrompt = "caption_3d",
) -> Program[MetricScores]:
    """How well an answer's parts fit together: in content (HC), style (SH), both (ICS).

    Three numbers from 0 to 1, higher is better. A judge reads the answer, in which
    captions replace the media, and gives two grades from 1 to 5. ``holistic_coherence``
    and ``stylistic_harmony`` are ``(grade - 1) / 4``. ``interleaved_coherence`` is
    their weighted mean; ``weight`` is the weight of ``holistic_coherence``. With
    ``show_input`` the judge also sees the question, captioned in the same way. An empty
    answer gets grade 1 for both content and style without a judge call.

    The numbers are unscored, with bounds, if a caption or a grade is lost; if one grade
    is lost, the number of the other grade is still scored. A number beyond the scale is
    clamped to the end of the scale. ``reading: robust`` rounds grades, and repeats the
    question after an unusable reply. ``reading: official`` reads replies like the
    released script and only repeats the question after an empty reply. With
    ``judge_failure: lowest`` a grade that a reply lacks is 1, and the run reports the
    number of such replies. A trial without any reply is still unscored. ``captions:
    released`` writes captions like the released script. ``repeats`` is the number of
    judge calls, and ``combine`` combines them into one grade. Evidence: the grades with
    the judge's reason, ``captions``, and ``raw``, the judge's number if that is not a
    grade of the scale.
    """
    if trial.output is None:
        return dict.fromkeys(OUTPUTS, Score.unscored("there is no answer to score"))
    if trial.output.empty:
        both_grades = {COHERENCE: LOWEST, STYLE: LOWEST, "weight": weight}
        scores: list[Score] = []
        for grades in ({COHERENCE: LOWEST}, {STYLE: LOWEST}, both_grades):
            evidence: dict[str, Any] = {"reason": "the answer is empty", **grades}
            scores.append(Score(share(LOWEST), evidence=evidence))
        return dict(zip(OUTPUTS, scores, strict=True))
    prompts: Mapping[PartKind, PromptValue] = {
        "image": caption_image,
        "audio": caption_audio,
        "video": caption_video,
        "document": caption_document,
        "3d": caption_3d,
    }
    data = [question_content(trial.sample)] if show_input else []
    answer, *questions = yield from caption_contents(
        [trial.output],
        captioner,
        prompts,
        data=data,
        form=captions,
        subject=domain_of(trial.sample),
    )
    captions_evidence = {"captions": answer.evidence}
    contents = {"answer": [answer], "question": questions}
    if unscored := missing_caption_score(contents, captions_evidence):
        return dict.fromkeys(OUTPUTS, unscored)
    values = {"answer": answer.text, "input": ""}
    if questions:
        values["input"] = questions[0].text
    lowest = judge_failure == "lowest"
    # As in the release, an unreadable reply then counts as the lowest grade at once.
    accepts_all = lowest and reading == "official"
    form = grades_form((COHERENCE, STYLE), reading, accepts_all=accepts_all)
    replies = yield from _ask(Question(judge, form, prompt, values), form, repeats)
    if lowest:
        replies = list(map(as_empty_reply, replies))
    coherence, style = [
        DimensionVerdict(grade_form.grade.name, combined(grade_form, replies, combine))
        for grade_form in form.each_grade(lowest=lowest)
    ]
    return _scores(coherence, style, weight, captions_evidence)


@dataclass(frozen=True)
class DimensionVerdict:
    """The judge's verdict on one dimension."""

    name: str
    verdict: Verdict

    @property
    def value(self) -> BoundedValue:
        """The grade as a share, or why it is unknown."""
        reason = self.verdict.unknown(self.name)
        if reason:
            return unknown_value(f"{self.name}: {reason}", self.verdict.cause)
        return known_value(share(self.verdict.values[self.name]))

    @property
    def evidence(self) -> dict[str, Any]:
        evidence = self.verdict.evidence
        if raw := raw_votes(self.verdict):
            evidence[RAW] = raw
        return evidence


def _ask(question: Question, form: GradesForm, repeats: int) -> Program[list[Reply]]:
    """Asks a question ``repeats`` times and returns the replies.

    If no attempt returns both grades, the judge is asked again, and then a reply with
    only one grade is accepted.
    """
    call = question.call()
    replies = yield from ask_all([call] * repeats)
    partial = [
        number for number, reply in enumerate(replies) if is_partial_reply(reply)
    ]
    if partial:
        lenient = replace(call, accept=form.part_fault)
        further = yield from ask_all([lenient] * len(partial))
        for number, reply in zip(partial, further, strict=True):
            replies[number] = reply
    return replies


def _scores(
    coherence: DimensionVerdict,
    style: DimensionVerdict,
    weight: float,
    captions: Mapping[str, Any],
) -> MetricScores:
    evidence: dict[str, Any] = {}
    for dimension in (coherence, style):
        evidence[dimension.name] = dimension.verdict.values.get(dimension.name)
    evidence |= {"weight": weight, **captions}
    combined_value = weighted_sum([coherence.value, style.value], [weight, 1 - weight])
    # The lengths only differ without ``lowest``, and then no vote is unreadable.
    votes = zip(coherence.verdict.votes, style.verdict.votes, strict=False)
    unread = 0
    for first, second in votes:
        if first.get(UNREADABLE) or second.get(UNREADABLE):
            unread += 1
    if unread and combined_value.is_known:
        evidence[UNREAD] = unread
    scores = (
        coherence.value.scored(coherence.evidence),
        style.value.scored(style.evidence),
        combined_value.scored(evidence),
    )
    return dict(zip(OUTPUTS, scores, strict=True))
