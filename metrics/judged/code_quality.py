"""Code quality: a judge grades each piece of code in an answer separately."""

from __future__ import annotations

import re
from typing import Annotated, Literal, NamedTuple

from mmeval.errors import ContentError, CorruptMediaError
from mmeval.media import Media, Part
from mmeval.media.decode import OFFICE, document_start
from mmeval.metric import metric
from mmeval.metric.judge import Combine, Question, Repeats
from mmeval.metrics.judged.material import Material, as_the_reference
from mmeval.metrics.judged.quality_grades import (
    GRADES,
    MAX_SHOWN_CHARS,
    Dimensions,
    GradeScale,
    ItemQuestion,
    Rubric,
    dimensions_form,
    judged_together,
    shown_start,
)
from mmeval.metrics.produced import labelled
from mmeval.metrics.quality.items import (
    ItemScore,
    Unreadable,
    nothing_of,
    unreadable_item,
)
from mmeval.program import JudgePrompt, Program, PromptValue, Role
from mmeval.records import Score, Trial

Fence = Literal["safe", "released"]
"""How code is fenced in the prompt."""
Prompt = Annotated[PromptValue, JudgePrompt("code", "cut")]
DimensionsPrompt = Annotated[PromptValue, JudgePrompt("code", "cut", form=False)]
DIMENSIONS = Dimensions(
    ("correctness", "readability", "design", "performance", "security", "testability"),
    0,
    100,
)
OVERALL = "overall_score"
NO_CODE = "the answer names this code but does not contain it"
_NOT_CODE_TYPES = ("application/pdf", *OFFICE)
# Possessive quantifiers: the pattern reads hostile text in linear time.
_FENCE = re.compile(
    r"(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<language>[\w+#.-]{0,30}+)[ \t]*+\r?\n"
)
"""The opening of a Markdown block. The language in it takes at most 30 characters."""


def released_share(overall: float) -> float:
    """Returns the overall number (0 to 100) as a share, as the released scorer does.

    Official oddity: the number should be the mean of the dimensions, but the script
    uses the number that the judge reports.
    """
    return overall / 100


RELEASED = GradeScale(
    dimensions_form(OVERALL, DIMENSIONS, quotable=True), OVERALL, released_share
)


@metric(
    range=(0, 1),
    version="4",  # the dimension efficiency is called performance
    source="UniM, section 4.1 (GQ, of code); official: released quality scorer",
    profiles={
        "official": {
            "rubric": "dimensions",
            "fence": "released",
            "unreadable": "unscored",
        }
    },
    supposed=as_the_reference,
    reference_free=True,
    caution="It measures how good code looks, not whether it does what was asked: the "
    "judge does not see the question.",
    looks_at="code",
)
def code_quality(
    trial: Trial,
    judge: Role,
    *,
    rubric: Rubric = "grade",
    fence: Fence = "safe",
    unreadable: Unreadable = "zero",
    repeats: Repeats = 1,
    combine: Combine = "mean",
    prompt: Prompt = "code_quality",
    dimensions_prompt: DimensionsPrompt = "code_quality_dimensions",
) -> Program[Score]:
    """How good the code of an answer is: the mean of a judge's grades for its pieces.

    Range 0 to 1, higher is better: a grade from 1 to 5 becomes ``(grade - 1) / 4``. A
    piece is the code of a tag such as ``<<code1>>``. A Markdown block in the text is
    not a piece. The judge grades correctness, readability, design, performance,
    security and testability, in any programming language. The judge does not see the
    question or the other pieces, and the code is not run, so the judge cannot tell if
    the code does what was asked. The metric is inapplicable to an answer without code.
    A tag without code, or a file that is not text, scores 0 without a judge call. With
    ``unreadable: unscored`` the answer is unscored instead.

    ``rubric: grade`` asks for the paper's single grade with ``prompt``. ``rubric:
    dimensions`` asks for six dimensions and an overall number from 0 to 100 with
    ``dimensions_prompt``, as the released scorer does. The score is computed from the
    overall number alone. A number beyond the scale is clamped to the end of the scale.
    ``fence: safe`` fences the code so that nothing in it can end the fence. ``fence:
    released`` always uses three backticks. ``repeats`` is the number of judge calls per
    piece, and ``combine`` (``mean``, ``median`` or ``majority``) combines them into one
    grade. The answer is unscored, with bounds, if the verdict on a piece is lost. The
    judge sees only the first 40,000 characters of longer code, and ``remarks`` report
    that the code was cut. Evidence: ``items``, each with its ``quality``, the grade
    (``score``, or ``overall_score`` with the dimensions) and the judge's reason.
    ``raw`` is the quality before a number beyond the scale was clamped.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    pieces = labelled(trial.output, "code")
    if not pieces:
        return nothing_of("code")
    scale, grading_prompt = GRADES, prompt
    if rubric == "dimensions":
        scale, grading_prompt = RELEASED, dimensions_prompt
    maker = _ItemMaker(judge, scale, grading_prompt, fence, unreadable)
    items = [(label, maker.item(part)) for label, part in pieces]
    return (yield from judged_together(items, scale, repeats=repeats, combine=combine))


class _ItemMaker(NamedTuple):
    """Turns each piece of code into a question, or into a score without a call."""

    judge: Role
    scale: GradeScale
    prompt: PromptValue
    fence: Fence
    unreadable: Unreadable

    def item(self, part: Part) -> ItemScore | ItemQuestion:
        code = part.text or ""
        if part.media is not None:
            try:
                code = _beginning(part.media)
            except CorruptMediaError as error:
                return unreadable_item(str(error), self.unreadable)
            except ContentError as error:
                return ItemScore.none(str(error))
        bare = unwrapped(code)
        if not bare.text.strip():
            why = NO_CODE if part.dangling else "the code is empty"
            return unreadable_item(why, self.unreadable)
        if self.fence == "safe":
            shown = shown_start(bare.text)
            fenced = safely_fenced(shown.text, bare.language)
        else:
            shown = shown_start(code)
            fenced = fenced_again(shown.text)
        values: Material = {"code": fenced, "cut": shown.cut}
        question = Question(self.judge, self.scale.form, self.prompt, values)
        return ItemQuestion(question, shown.evidence)


def _beginning(media: Media) -> str:
    """Returns the code of a file, at most one character more than the judge sees.

    Raises CorruptMediaError for a document, since only plain text is code.
    """
    if media.mime in _NOT_CODE_TYPES:
        raise CorruptMediaError(
            f"{media.label}: a file of type {media.mime} is not code"
        )
    # The extra character shows that the code is longer than what the judge sees.
    return document_start(media, MAX_SHOWN_CHARS + 1)[0]


class Code(NamedTuple):
    """Code, and the language named in its fence."""

    text: str
    language: str = ""


def unwrapped(code: str) -> Code:
    """Removes the Markdown fence if one fence encloses all of the code."""
    bare = code.strip()
    opening = _FENCE.match(bare)
    if opening is None:
        return Code(code)
    *body, closing = bare[opening.end() :].split("\n")
    fence = opening["fence"]
    ends_before = any(line.lstrip().startswith(fence) for line in body)
    if ends_before or closing.strip() != fence:
        return Code(code)
    return Code("\n".join(body), opening["language"])


def safely_fenced(code: str, language: str = "") -> str:
    """Puts code in a fence that is longer than any run of backticks in the code."""
    longest = max(map(len, re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def fenced_again(code: str) -> str:
    """Puts code between three backticks, without a language.

    Official oddity: code that already contains a fence is then fenced twice, and the
    inner fence ends the outer fence.
    """
    return f"```\n{code}\n```"
