"""Text quality: a judge grades how well the text of an answer is written."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from mmeval.media import Interleaved, render
from mmeval.metric import metric
from mmeval.metric.judge import Combine, Question, Repeats
from mmeval.metrics.judged.material import Material, as_the_reference
from mmeval.metrics.judged.quality_grades import (
    GRADES,
    Dimensions,
    GradeScale,
    ItemQuestion,
    Rubric,
    dimensions_form,
    judged_together,
    lowest_grade,
    shown_start,
)
from mmeval.metrics.judged.unim_grades import share
from mmeval.metrics.quality.items import ItemScore
from mmeval.program import JudgePrompt, Program, PromptValue, Role
from mmeval.records import Score, Trial

Prompt = Annotated[PromptValue, JudgePrompt("text", "cut", form=False)]
LABEL = "text1"
"""The label of the only item, the text of the answer."""
DIMENSIONS = Dimensions(
    ("clarity", "coherence", "informativeness", "conciseness", "style"), 1, 5
)
OVERALL, OVERALL_IF_ABSENT = "overall", 3.0


def released_share(overall: float) -> float:
    """Returns the overall number as a share, as the released scorer does.

    Official oddity: the scorer treats the number as a grade from 1 to 5, although its
    prompt also asks to convert it to 0-100. The result is not bounded: if a judge
    replies 80 as requested, the scorer computes 1975 out of 100, which is 19.75 here.
    """
    return share(overall)


RELEASED = GradeScale(
    dimensions_form(OVERALL, DIMENSIONS, absent=OVERALL_IF_ABSENT),
    OVERALL,
    released_share,
)
"""Official oddity: a reply without an overall number counts as 3, whatever its
dimensions are."""


@metric(
    range=(0, 1),
    version="2",
    source="UniM, section 4.1 (GQ, of text); official: released quality scorer",
    profiles={"official": {"rubric": "dimensions"}},
    supposed=as_the_reference,
    reference_free=True,
    caution="It measures how well a text is written, not whether it is right: the "
    "judge does not see the question.",
    looks_at="text",
)
def text_quality(
    trial: Trial,
    judge: Role,
    *,
    rubric: Rubric = "grade",
    repeats: Repeats = 1,
    combine: Combine = "mean",
    prompt: Prompt = "text_quality",
    dimensions_prompt: Prompt = "text_quality_dimensions",
) -> Program[Score]:
    """A judge's grade of how well the text of an answer is written.

    Range 0 to 1, higher is better: a grade from 1 to 5 becomes ``(grade - 1) / 4``.
    Each answer is one item, ``text1``: the answer's words without hidden reasoning,
    with a tag for everything that is not text, including code. The judge grades
    richness, structure, fluency and whether the text is in one language. The judge does
    not see the question or any medium, so it cannot tell if the text is true or
    relevant. A text that consists only of spaces and tags gets grade 1 without a judge
    call.

    ``rubric: grade`` asks for the paper's single grade with ``prompt``. ``rubric:
    dimensions`` asks for five dimensions and an overall number with
    ``dimensions_prompt``, as the released scorer does. The score is computed from the
    overall number alone. A number beyond the scale is clamped to the end of the scale.
    ``repeats`` is the number of judge calls, and ``combine`` (``mean``, ``median`` or
    ``majority``) combines them into one grade. The answer is unscored, with bounds 0
    and 1, if the verdict is lost. The judge sees the first 40,000 characters of a
    longer text, and ``remarks`` report that the text was cut. Evidence: ``items`` with
    the one item, its ``quality``, the grade (``score``, or ``overall`` with the
    dimensions) and the judge's reason. ``raw`` is the quality before a number beyond
    the scale was clamped.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    scale, grading_prompt = GRADES, prompt
    if rubric == "dimensions":
        scale, grading_prompt = RELEASED, dimensions_prompt
    item: ItemScore | ItemQuestion = lowest_grade("the answer has no text")
    if trial.output.words.strip():
        shown = shown_start(tagged_text(trial.output))
        values: Material = {"text": shown.text, "cut": shown.cut}
        item = ItemQuestion(
            Question(judge, scale.form, grading_prompt, values), shown.evidence
        )
    items = [(LABEL, item)]
    return (yield from judged_together(items, scale, repeats=repeats, combine=combine))


def tagged_text(answer: Interleaved) -> str:
    """Returns the text of an answer, with a tag for every other part.

    A tag is copied as written. If a part has no tag, a tag is made from the part's kind
    and its number in the answer.
    """
    numbers: Counter[str] = Counter()
    pieces: list[str] = []
    for part in answer.parts:
        if part.kind == "text":
            pieces.append(part.text or "")
        elif part.kind != "reasoning":
            numbers[part.kind] += 1
            if part.raw and part.raw != part.text:
                pieces.append(part.raw)
            else:
                pieces.append(render(part.kind, numbers[part.kind]))
    return "".join(pieces)
