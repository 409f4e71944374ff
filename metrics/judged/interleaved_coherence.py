"""Interleaved coherence (HC, SH, ICS): do parts fit in meaning and in style?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from mmeval.media import PartKind
from mmeval.metric import MetricScores, metric
from mmeval.metric.judge import UNREAD, Combine, Question, Repeats, Verdict, combined
from mmeval.metrics.judged.captions.captioned import without_captions
from mmeval.metrics.judged.captions.captioning import (
    CaptionForm,
    CaptionPrompt,
    captioned_all,
)
from mmeval.metrics.judged.material import as_the_reference, asked_of
from mmeval.metrics.judged.pictures.worth import Worth, unknown, weighted, worth
from mmeval.metrics.judged.reading import UNREADABLE, Reading
from mmeval.metrics.judged.unim_grades import (
    LOWEST,
    RAW,
    GradesForm,
    as_empty,
    grades_form,
    is_half_said,
    raw_votes,
    share,
)
from mmeval.program import JudgePrompt, Program, Reply, Role, Written, ask_all
from mmeval.records import Score, Trial
from mmeval.system import Share

JudgeFailure = Literal["exclude", "lowest"]
"""What a missing grade does: the trial is unscored, or the grade counts as the
lowest."""
COHERENCE, STYLE = "coherence", "style_consistency"
"""The keys of a reply."""
OUTPUTS = ("holistic_coherence", "stylistic_harmony", "interleaved_coherence")


@metric(
    range=(0, 1),
    version="2",
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
        Written, JudgePrompt("answer", "input", form=False)
    ] = "interleaved_coherence",
    caption_image: CaptionPrompt = "caption_image",
    caption_audio: CaptionPrompt = "caption_audio",
    caption_video: CaptionPrompt = "caption_video",
    caption_document: CaptionPrompt = "caption_document",
    caption_3d: CaptionPrompt = "caption_3d",
) -> Program[MetricScores]:
    """How well an answer's parts fit: in content (HC), style (SH), and both (ICS).

    Three numbers from 0 to 1, higher is better. A judge reads the answer with captions
    in the place of media and gives two grades from 1 to 5: ``holistic_coherence`` and
    ``stylistic_harmony`` are ``(grade - 1) / 4``, and ``interleaved_coherence`` is
    ``weight`` of the first and the rest of the second. With ``show_input`` the judge
    also sees the question, captioned in the same way. An empty answer has grade 1 twice
    without asking the judge.

    Unscored within bounds where a caption or a grade is lost; one grade that is lost
    leaves the other number scored. A number beyond the scale counts as its end.
    ``reading: robust`` rounds, and asks again after a reply that does not fit;
    ``official`` reads replies as the release does and asks again only after an empty
    one. With ``judge_failure: lowest`` grades that a reply lacks are 1, and the run
    reports the number of such replies; without any reply the trial is still unscored.
    ``captions: released`` is the text of the released script. With ``repeats`` the
    judge is asked as often, and ``combine`` makes one grade of it. Evidence: the grades
    with the judge's reason and ``captions``; ``raw``, what the judge wrote instead of a
    grade of the scale.
    """
    if trial.output is None:
        return dict.fromkeys(OUTPUTS, Score.unscored("there is no answer to score"))
    if trial.output.empty:
        said: dict[str, Any] = {"reason": "the answer is empty"}
        both = {COHERENCE: LOWEST, STYLE: LOWEST, "weight": weight}
        grades = ({COHERENCE: LOWEST}, {STYLE: LOWEST}, both)
        evidence = [said | grade for grade in grades]
        scores = [Score(share(LOWEST), evidence=each) for each in evidence]
        return dict(zip(OUTPUTS, scores, strict=True))
    prompts: Mapping[PartKind, Written] = {
        "image": caption_image,
        "audio": caption_audio,
        "video": caption_video,
        "document": caption_document,
        "3d": caption_3d,
    }
    data = [asked_of(trial.sample)] if show_input else []
    answer, *asked = yield from captioned_all(
        [trial.output], captioner, prompts, data=data, form=captions
    )
    seen = {"captions": answer.evidence}
    if lost := without_captions({"answer": [answer], "question": asked}, seen):
        return dict.fromkeys(OUTPUTS, lost)
    values = {"answer": answer.text, "input": ""}
    if asked:
        values["input"] = asked[0].text
    lowest = judge_failure == "lowest"
    takes_all = lowest and reading == "official"
    form = grades_form((COHERENCE, STYLE), reading, takes_all=takes_all)
    replies = yield from _ask(Question(judge, form, prompt, values), form, repeats)
    if lowest:
        replies = list(map(as_empty, replies))
    # Each grade separately, over all replies.
    coherence, style = [
        Graded(grade_form.grade.name, combined(grade_form, replies, combine))
        for grade_form in form.of_each(lowest=lowest)
    ]
    return _scores(coherence, style, weight, seen)


@dataclass(frozen=True)
class Graded:
    """The judge's verdict on one dimension."""

    name: str
    verdict: Verdict

    @property
    def worth(self) -> Worth:
        """The grade as a share, or why it is not known."""
        lacking = self.verdict.unknown(self.name)
        if lacking:
            return unknown(f"{self.name}: {lacking}", self.verdict.cause)
        return worth(share(self.verdict.values[self.name]))

    @property
    def evidence(self) -> dict[str, Any]:
        evidence = self.verdict.evidence
        if raw := raw_votes(self.verdict):
            evidence[RAW] = raw
        return evidence


def _ask(
    question: Question,
    form: GradesForm,
    repeats: int,
) -> Program[list[Reply]]:
    """The replies; when all attempts lack one grade, a reply with the other counts."""
    call = question.call()
    replies = yield from ask_all([call] * repeats)
    half = [at for at, reply in enumerate(replies) if is_half_said(reply)]
    if half:
        again = replace(call, accept=form.part_fault)
        found = yield from ask_all([again] * len(half))
        for at, reply in zip(half, found, strict=True):
            replies[at] = reply
    return replies


def _scores(
    coherence: Graded, style: Graded, weight: float, answer: Mapping[str, Any]
) -> MetricScores:
    evidence: dict[str, Any] = {}
    for graded in (coherence, style):
        evidence[graded.name] = graded.verdict.values.get(graded.name)
    evidence |= {"weight": weight, **answer}
    both = weighted([coherence.worth, style.worth], [weight, 1 - weight])
    # where a reply lacks one, none counts
    votes = zip(coherence.verdict.votes, style.verdict.votes, strict=False)
    unread = 0
    for first, second in votes:
        if first.get(UNREADABLE) or second.get(UNREADABLE):
            unread += 1
    if unread and both.known:
        evidence[UNREAD] = unread
    scores = (
        coherence.worth.scored(coherence.evidence),
        style.worth.scored(style.evidence),
        both.scored(evidence),
    )
    return dict(zip(OUTPUTS, scores, strict=True))
