"""Text quality: how well is the text of an answer written? A judge grades it."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from mmeval.media import Interleaved, render
from mmeval.metric import metric
from mmeval.metric.judge import Combine, Question, Repeats
from mmeval.metrics.judged.material import Material, as_the_reference
from mmeval.metrics.judged.quality_grades import (
    GRADES,
    Asked,
    Dimensions,
    Rubric,
    Scale,
    dimensions_form,
    judged_together,
    lowest_grade,
    shown_start,
)
from mmeval.metrics.judged.unim_grades import share
from mmeval.metrics.quality.items import ItemScore
from mmeval.program import JudgePrompt, Program, Role, Written
from mmeval.records import Score, Trial

Prompt = Annotated[Written, JudgePrompt("text", "cut")]
LABEL = "text1"
"""The one item that the text of an answer is."""
DIMENSIONS = Dimensions(
    ("clarity", "coherence", "informativeness", "conciseness", "style"), 1, 5
)
OVERALL, OVERALL_IF_ABSENT = "overall", 3.0


def released_share(overall: float) -> float:
    """The released scorer's share of the overall number. Official oddity: it treats the
    number as a grade from 1 to 5 although its prompt also asks to convert it to 0-100,
    and does not bound the result; a judge that obeys and replies 80 gives 1975 of 100,
    which is 19.75 here."""
    return share(overall)


RELEASED = Scale(
    dimensions_form(OVERALL, DIMENSIONS, absent=OVERALL_IF_ABSENT),
    OVERALL,
    released_share,
)
"""Official oddity: a reply without an overall number says 3, whatever its dimensions
say."""


@metric(
    range=(0, 1),
    version="2",
    source="UniM, section 4.1 (GQ, of text); official: released quality scorer",
    profiles={"official": {"rubric": "dimensions"}},
    supposed=as_the_reference,
    reference_free=True,
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
    """How well the text is written: a judge's grade of 1 to 5, as ``(grade - 1) / 4``.

    Range 0 to 1, higher is better. An answer has one text, its item ``text1``: its
    words without hidden reasoning, with a tag for everything that is not text, code
    included. The judge looks at richness, structure, fluency and at whether it keeps to
    one language. It sees neither the question nor any medium, so that it cannot tell
    whether the text is true, asked for, or shown. A text of only blanks and tags has
    grade 1 without asking the judge.

    ``rubric: grade`` asks for the one grade of the paper by ``prompt``; ``dimensions``
    for five and an overall number, which alone counts, by ``dimensions_prompt``, as the
    released scorer does. A number beyond the scale counts as its end. With ``repeats``
    the judge is asked as often, and ``combine`` makes one grade of it: ``mean``,
    ``median`` or ``majority``. Unscored within 0 and 1 where the verdict is lost. Of a
    longer text the judge sees the first 40,000 characters, and ``remarks`` say so.
    Evidence: ``items`` with the one item, its ``quality``, the grade (``score`` or
    ``overall`` with the dimensions), the judge's reason, and ``raw``, what a number
    beyond the scale would be worth.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    scale, written = GRADES, prompt
    if rubric == "dimensions":
        scale, written = RELEASED, dimensions_prompt
    item: ItemScore | Asked = lowest_grade("there is no text")
    if trial.output.words.strip():
        shown = shown_start(tagged_text(trial.output))
        values: Material = {"text": shown.text, "cut": shown.cut}
        item = Asked(Question(judge, scale.form, written, values), shown.seen)
    items = [(LABEL, item)]
    return (yield from judged_together(items, scale, repeats=repeats, combine=combine))


def tagged_text(answer: Interleaved) -> str:
    """The text with a tag, as written or numbered by place, for all that is not
    text."""
    places: Counter[str] = Counter()
    pieces: list[str] = []
    for part in answer.parts:
        if part.kind == "text":
            pieces.append(part.text or "")
        elif part.kind != "reasoning":
            places[part.kind] += 1
            if part.raw and part.raw != part.text:
                pieces.append(part.raw)
            else:
                pieces.append(render(part.kind, places[part.kind]))
    return "".join(pieces)
