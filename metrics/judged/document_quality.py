"""Quality of documents: a judge reads an answer's documents as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

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
    Scale,
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
from mmeval.program import Call, JudgePrompt, Program, Reply, Role, Written, ask_all
from mmeval.records import Score, Trial

Rubric = Literal["grade", "overall", "dimensions"]
"""What a judge is asked about a document: one ``grade`` from 1 to 5 as in the paper; an
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
MOST_OF_A_DIMENSION = 5
MOST_OVERALL = 100
OVERALL_OF_ALL = "overall_score_100"
"""The dimensions that the released scorer of all modalities asks for."""
OVERALL = "overall"
NOT_A_PICTURE = "it is no picture, and the release reads pictures alone"


@dataclass(frozen=True)
class WeightedForm(DimensionsForm):
    """The reply of the released script for documents: six numbers from 0 to 5. Their
    weighted mean is the overall number, which counts as reported, whatever the six are.
    The publication does not say what counts without it: here it follows from the
    six."""

    def read(self, text: str) -> Vote:
        found = self.object_in(text)
        if self.overall in found:
            return super().read(text)
        given = self.dimensions.read(found)
        for name in WEIGHTS:
            if name not in given:
                raise ReplyError(
                    f"the reply's JSON lacks {self.overall!r} and {name!r}"
                )
        return {**given, self.overall: weighted_overall(given)}


def weighted_overall(given: Mapping[str, float]) -> float:
    """The weighted mean of the six dimensions, from 0 to 100."""
    total = sum(weight * given[name] for name, weight in WEIGHTS.items())
    return MOST_OVERALL * total / MOST_OF_A_DIMENSION


def _of_hundred(number: float) -> float:
    return number / MOST_OVERALL


_SIX = Dimensions(tuple(WEIGHTS), 0, MOST_OF_A_DIMENSION)
SCALES: Mapping[Rubric, Scale] = {
    "grade": GRADES,
    "overall": Scale(
        dimensions_form(OVERALL_OF_ALL, Dimensions((), 0, MOST_OVERALL), quotable=True),
        OVERALL_OF_ALL,
        _of_hundred,
    ),
    "dimensions": Scale(
        dimensions_form(
            OVERALL, _SIX, most=MOST_OVERALL, quotable=True, kind=WeightedForm
        ),
        OVERALL,
        _of_hundred,
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
        Written, JudgePrompt("document", "hints", "rubric")
    ] = "document_quality",
) -> Program[Score]:
    """How well the answer's documents are made, by their words alone.
    A judge grades each from 1 to 5: ``(grade - 1) / 4``; the mean over them.

    Range 0 to 1, higher is better. Each document is read to Markdown, of which the
    judge sees the first 40,000 characters: the text layer of a PDF, and by OCR up to
    eight of its pages that have none; paragraphs and tables of docx, pptx, xlsx, xls
    and ods; CSV; other text; pictures of documents by OCR. ``hints`` adds what the
    published heuristics notice about decimals and units. A document that is missing,
    damaged or empty is 0 without asking the judge, or has no quality where
    ``unreadable`` is ``unscored``; one above the limits of decoding, or in Word's old
    format, is unscored. Inapplicable without a document.

    It ignores layout, typefaces, colours, pictures inside a document, and whether its
    content is true.

    ``ocr: none`` needs no OCR package, and leaves pictures and scanned pages out.
    ``rubric: overall`` and ``dimensions`` ask as the two released scripts do, for a
    number up to 100 that counts as it is reported, cut at the ends of its scale; where
    a reply with all six ``dimensions`` leaves it out, it is their weighted mean.
    ``extraction: pictures`` reads pictures alone, each line a row of one table; all
    other files have no quality, and one that says nothing is judged as an empty text.
    The release reads with another OCR engine (Tesseract), so that words may differ.
    With ``repeats`` the judge is asked as often, and ``combine`` makes one grade of it.
    Evidence: of each document its grade or numbers, the judge's reason, and as
    ``remarks`` how it was read, with its hints and its first words.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    items = items_of(trial.output, "document")
    if not items:
        return nothing_of("document")
    route = markdown_route(extraction, ocr, hints=hints)
    scale = SCALES[rubric]
    known: list[ItemScore | None] = []
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
        known.append(score)
    replies: list[Reply] = []
    if calls:
        replies = yield from ask_all(calls)
    scores: list[tuple[str, ItemScore]] = []
    for item, given in zip(items, known, strict=True):
        score = given
        if score is None:
            score = _judged(replies[:repeats], combine, scale, unreadable)
            replies = replies[repeats:]
        scores.append((item.label, score))
    return together(scores)


def _judged(
    replies: Sequence[Reply], combine: Combine, scale: Scale, unreadable: Unreadable
) -> ItemScore:
    """The score of a document by the replies to its question."""
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
