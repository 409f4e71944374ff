"""Code quality: a judge grades each piece of code of an answer by itself."""

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
    Asked,
    Dimensions,
    Rubric,
    Scale,
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
from mmeval.program import JudgePrompt, Program, Role, Written
from mmeval.records import Score, Trial

Fence = Literal["safe", "released"]
"""How code is fenced in the prompt."""
Prompt = Annotated[Written, JudgePrompt("code", "cut")]
DIMENSIONS = Dimensions(
    ("correctness", "readability", "design", "efficiency", "security", "testability"),
    0,
    100,
)
OVERALL = "overall_score"
NO_CODE = "the answer names it, and no code came with it"
_NO_CODE = ("application/pdf", *OFFICE)
_FENCE = re.compile(
    r"(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<language>[\w+#.-]{0,30}+)[ \t]*+\r?\n"
)
"""The opening of a Markdown block; its language may have 30 characters."""


def released_share(overall: float) -> float:
    """The released scorer's share of the overall number, which is from 0 to 100.
    Official oddity: it is meant as the mean of the dimensions, but counts as the judge
    reports it."""
    return overall / 100


RELEASED = Scale(
    dimensions_form(OVERALL, DIMENSIONS, quotable=True), OVERALL, released_share
)


@metric(
    range=(0, 1),
    version="3",
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
    dimensions_prompt: Prompt = "code_quality_dimensions",
) -> Program[Score]:
    """How good the code of an answer is. The mean over its pieces, each graded by a
    judge from 1 to 5 and worth ``(grade - 1) / 4``.

    Range 0 to 1, higher is better. A piece is the code of a tag ``<<code1>>``; a
    Markdown block in the text is not a piece. The judge looks at correctness,
    readability, design, efficiency, security and testability, in whatever language it
    is. It sees neither the question nor the other pieces, and nothing is run, so that
    it cannot tell whether the code does what was asked. Inapplicable for an answer
    without code. A tag without code, and a file that is not text, are 0 without asking
    the judge, or have no quality where ``unreadable`` is ``unscored``.

    ``rubric: grade`` asks for the one grade of the paper by ``prompt``; ``dimensions``
    for six and an overall number from 0 to 100, which alone counts, by
    ``dimensions_prompt``, as the released scorer does. A number beyond the scale counts
    as its end. ``fence: safe`` sets code off so that nothing in it can end it;
    ``released`` puts three backticks around whatever it is. With ``repeats`` the judge
    is asked as often, and ``combine`` makes one grade of it: ``mean``, ``median`` or
    ``majority``. Unscored with bounds where the verdict of a piece is lost. Of longer
    code the judge sees the first 40,000 characters, and ``remarks`` say so. Evidence:
    ``items``, each with its ``quality``, the grade (``score``, or ``overall_score``
    with the dimensions), the judge's reason, and ``raw``, what a number beyond the
    scale would be worth.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    pieces = labelled(trial.output, "code")
    if not pieces:
        return nothing_of("code")
    scale, written = GRADES, prompt
    if rubric == "dimensions":
        scale, written = RELEASED, dimensions_prompt
    asking = _Asking(judge, scale, written, fence, unreadable)
    items = [(label, asking.item(part)) for label, part in pieces]
    return (yield from judged_together(items, scale, repeats=repeats, combine=combine))


class _Asking(NamedTuple):
    """How the judge is asked about each piece."""

    judge: Role
    scale: Scale
    prompt: Written
    fence: Fence
    unreadable: Unreadable

    def item(self, part: Part) -> ItemScore | Asked:
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
            why = NO_CODE if part.dangling else "there is no code in it"
            return unreadable_item(why, self.unreadable)
        if self.fence == "safe":
            shown = shown_start(bare.text)
            fenced = safely_fenced(shown.text, bare.language)
        else:
            shown = shown_start(code)
            fenced = fenced_again(shown.text)
        values: Material = {"code": fenced, "cut": shown.cut}
        question = Question(self.judge, self.scale.form, self.prompt, values)
        return Asked(question, shown.seen)


def _beginning(media: Media) -> str:
    """The code of a file that is shown, plus one character where it is longer.
    Only plain text is code; documents are not decoded."""
    if media.mime in _NO_CODE:
        raise CorruptMediaError(
            f"{media.label}: it is {media.mime}, which holds no code"
        )
    return document_start(media, MAX_SHOWN_CHARS + 1)[0]


class Code(NamedTuple):
    """Code, and the language that its own fence names."""

    text: str
    language: str = ""


def unwrapped(code: str) -> Code:
    """Code without the Markdown fence, where one fence holds the whole; else as it
    is."""
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
    """Code in a fence that is longer than any run of backticks in it."""
    longest = max(map(len, re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def fenced_again(code: str) -> str:
    """Official oddity: three backticks without a language around whatever it is.
    Code that has a fence then has two, and the inner one ends the outer."""
    return f"```\n{code}\n```"
