"""Document quality: a judge grades an answer's documents, converted to Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from mmeval.media import Interleaved, media_part
from mmeval.metric import metric
from mmeval.metric.judge import Combine, Question, Repeats, ReplyError, Vote, combined
from mmeval.metrics.document.ocr import OCR_NEEDS
from mmeval.metrics.document.reading import NO_OCR, Ocr
from mmeval.metrics.document.routes import Extraction, markdown_route
from mmeval.metrics.judged.material import as_the_reference
from mmeval.metrics.judged.quality_grades import (
    GRADES,
    REMARKS,
    Dimensions,
    DimensionsForm,
    GradeScale,
    dimensions_form,
    item_score,
)
from mmeval.metrics.quality.items import (
    UNSEEN,
    ItemScore,
    Unreadable,
    items_of,
    nothing_of,
    together,
    unreadable_item,
)
from mmeval.program import (
    Call,
    JudgePrompt,
    Program,
    PromptFile,
    PromptValue,
    Reply,
    Role,
    ask_all,
)
from mmeval.records import Score, Trial

Rubric = Literal["grade", "overall", "dimensions"]
"""What a judge reports for a document: one ``grade`` from 1 to 5 as in the paper; an
``overall`` number up to 100 as in the released scorer of all modalities; or six
``dimensions`` as in the released script for documents."""

WEIGHTS: Mapping[str, float] = {
    "clarity": 0.20,
    "structure": 0.15,
    "consistency": 0.20,
    "readability": 0.15,
    "data_presentation": 0.20,
    "usefulness": 0.10,
}
"""The weights of the six dimensions in the released script's overall number."""
MAX_DIMENSION = 5
MAX_OVERALL = 100
OVERALL_100 = "overall_score_100"
"""The key of the overall number in the released scorer of all modalities."""
OVERALL = "overall"
NOT_A_PICTURE = "the document is not a picture; the release only reads pictures"


@dataclass(frozen=True)
class WeightedForm(DimensionsForm):
    """The reply of the released script for documents: six numbers from 0 to 5.

    The overall number is used as reported, whatever the six numbers are. If the reply
    lacks this number, the weighted mean of the six numbers is used; the publication
    does not define this case.
    """

    def read(self, text: str) -> Vote:
        reply = self.object_in(text)
        if self.overall in reply:
            return super().read(text)
        dimensions = self.dimensions.read(reply)
        for name in WEIGHTS:
            if name not in dimensions:
                raise ReplyError(
                    f"the reply's JSON lacks {self.overall!r} and {name!r}"
                )
        return {**dimensions, self.overall: weighted_overall(dimensions)}


def weighted_overall(dimensions: Mapping[str, float]) -> float:
    """Returns the weighted mean of the six dimensions, from 0 to 100."""
    total = sum(weight * dimensions[name] for name, weight in WEIGHTS.items())
    return MAX_OVERALL * total / MAX_DIMENSION


def _share_of_100(number: float) -> float:
    return number / MAX_OVERALL


def _needs_form(switches: Mapping[str, Any]) -> bool:
    """Returns True for the rubric of the paper, whose prompt is not released."""
    return bool(switches["rubric"] == "grade")


_SIX = Dimensions(tuple(WEIGHTS), 0, MAX_DIMENSION)
SCALES: Mapping[Rubric, GradeScale] = {
    "grade": GRADES,
    "overall": GradeScale(
        dimensions_form(OVERALL_100, Dimensions((), 0, MAX_OVERALL), quotable=True),
        OVERALL_100,
        _share_of_100,
    ),
    "dimensions": GradeScale(
        dimensions_form(
            OVERALL, _SIX, most=MAX_OVERALL, quotable=True, kind=WeightedForm
        ),
        OVERALL,
        _share_of_100,
    ),
}


@metric(
    range=(0, 1),
    version="3",
    source="UniM, section 4.1 and appendix (documents); official: released quality "
    "scorer",
    needs=lambda switches: OCR_NEEDS if switches["ocr"] != "none" else (),
    profiles={
        "official": {
            "rubric": "overall",
            "extraction": "pictures",
            "hints": False,
            "unreadable": "unscored",
        }
    },
    supposed=as_the_reference,
    reference_free=True,
    caution="It measures how good a document's text is, not whether it is right: the "
    "judge does not see the question.",
    looks_at="document",
)
def document_quality(
    trial: Trial,
    judge: Role,
    *,
    rubric: Rubric = "grade",
    extraction: Extraction = "by_type",
    hints: bool = True,
    ocr: Ocr = "rapidocr",
    unreadable: Unreadable = "zero",
    repeats: Repeats = 1,
    combine: Combine = "mean",
    prompt: Annotated[
        PromptValue,
        JudgePrompt("document", "hints", "rubric", form=_needs_form),
    ] = "document_quality",
) -> Program[Score]:
    """How good the answer's documents are, judged by their text alone.

    Range 0 to 1, higher is better: the mean over the documents. A judge grades each
    document from 1 to 5, and a grade becomes ``(grade - 1) / 4``. A document is
    converted to Markdown, and the judge sees the first 40,000 characters. The metric
    reads the text layer of a PDF, paragraphs and tables of docx, pptx, xlsx, xls and
    ods, CSV and other text. With OCR it reads pictures of documents, and up to eight
    PDF pages without a text layer. ``hints`` adds what the published heuristics find
    about decimals and units. Layout, typefaces, colours, pictures inside a document,
    and the truth of its content do not affect the score.

    A document that is missing, damaged or empty scores 0 without a judge call. With
    ``unreadable: unscored`` the answer is unscored instead. A document that exceeds the
    limits of decoding, or that is in Word's old format, is unscored. The metric is
    inapplicable to an answer without a document.

    ``ocr: none`` does not require an OCR package, and leaves out pictures and scanned
    pages. ``rubric: overall`` and ``rubric: dimensions`` use the requests of the two
    released scripts: the reported number (up to 100) is used, clamped to its scale. If
    a reply with all six ``dimensions`` lacks this number, the weighted mean of the
    dimensions is used. ``extraction: pictures`` reads only pictures. An answer with
    other documents is then unscored. Each line of text becomes a row of one table, and
    a picture without text is judged as an empty string. The release uses another OCR
    engine (Tesseract), so words may differ. ``repeats`` is the number of judge calls,
    and ``combine`` combines them into one grade. The released words always ask for
    ``overall``. Evidence: for each document its grade
    or numbers and the judge's reason; ``remarks`` describes how the document was read,
    including its hints and its first words.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    items = items_of(trial.output, "document")
    if not items:
        return nothing_of("document")
    route = markdown_route(extraction, ocr, hints=hints)
    if PromptFile.of(prompt).released:
        # the released text asks for one overall number
        rubric = "overall"
    scale = SCALES[rubric]
    unjudged: list[ItemScore | None] = []
    calls: list[Call] = []
    for item in items:
        media = item.media
        score: ItemScore | None = None
        if media is None:
            score = unreadable_item(UNSEEN, unreadable)
        elif extraction == "pictures" and media.kind != "image":
            score = ItemScore.none(NOT_A_PICTURE)
        elif ocr == "none" and media.kind == "image":
            score = ItemScore.unavailable(NO_OCR)
        else:
            values = {
                "document": Interleaved((media_part(media, "document"),)),
                "hints": "yes" if hints else "",
                "rubric": rubric,
            }
            call = Question(judge, scale.form, prompt, values).call()
            calls += [replace(call, convert=(route,))] * repeats
        unjudged.append(score)
    replies: list[Reply] = []
    if calls:
        replies = yield from ask_all(calls)
    scores: list[tuple[str, ItemScore]] = []
    for item, item_result in zip(items, unjudged, strict=True):
        score = item_result
        if score is None:
            # The replies are in the order of the calls, ``repeats`` per document.
            score = _judged(replies[:repeats], combine, scale, unreadable)
            replies = replies[repeats:]
        scores.append((item.label, score))
    return together(scores)


def _judged(
    replies: Sequence[Reply],
    combine: Combine,
    scale: GradeScale,
    unreadable: Unreadable,
) -> ItemScore:
    """Returns the score of a document from the replies to its question."""
    first = replies[0].response
    error = first.error
    if error is not None and error.kind == "bad_media":
        return unreadable_item(error.message, unreadable)
    if error is not None and error.kind == "unsupported" and NO_OCR in error.message:
        return ItemScore.unavailable(error.message)
    score = item_score(combined(scale.form, replies, combine), scale)
    remarks = [*first.warnings, *score.evidence.get(REMARKS, ())]
    if not remarks:
        return score
    return replace(score, evidence={**score.evidence, REMARKS: remarks})
