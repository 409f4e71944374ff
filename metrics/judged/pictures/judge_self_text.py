"""Self text: does the picture say what the answer says it does?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmeval.judge import Repeats
from mmeval.metric import metric
from mmeval.metrics.judged.pictures.asking import PLAIN_REPLIES, About, Asking, Lost, PlacePrompt, ask_words
from mmeval.metrics.judged.pictures.claims import OFFICIAL_CLAIMS, claim_of, supposing
from mmeval.metrics.judged.pictures.judge_ocr import NEEDS, compared
from mmeval.metrics.judged.reading import Reading
from mmeval.metrics.structure.self_description import LEAST_WORDS, MOST_WORDS, Statements, text_in
from mmeval.program import Program, Role
from mmeval.records import Sample, Score, Trial


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    if isinstance(sample.metadata.get(switches["object_key"]), str):
        return ""
    return f"the row has no text under {switches['object_key']!r}"


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, Self OCR; official: interleaved evaluators 30c9f602",
    needs=NEEDS,
    profiles={"official": {**PLAIN_REPLIES, **OFFICIAL_CLAIMS}},
    check=_fault,
    supposed=supposing(lambda _, switches: f"<text>{' '.join(['word'] * switches['least'])}</text>"),
)
def judge_self_text(
    trial: Trial,
    judge: Role,
    *,
    object_key: str = "object",
    least: int = LEAST_WORDS,
    most: int = MOST_WORDS,
    statements: Statements = "standard",
    reading: Reading = "robust",
    lost: Lost = "unscored",
    media_first: bool = True,
    repeats: Repeats = 1,
    prompt: PlacePrompt = "picture_words",
) -> Program[Score]:
    """The word accuracy of what the judge reads in the picture, compared with what the answer says stands there.

    Range 0 to 1, higher is better. The answer says it as ``<text>...</text>``, ``least`` to ``most`` words on one line;
    one that does not, or has not exactly one picture in one place, is 0 and nobody is asked. The label ``object_key``
    says what the text stands on. ``statements: official`` counts as words what stands between single blanks.
    Everything else as in ``judge_ocr``. Evidence: ``claimed``, ``readings`` with the judge's own words, the errors, and
    both sides as they were compared.
    """
    if fault := _fault(trial.sample, {"object_key": object_key}):
        return Score.unscored(fault)
    claim = claim_of(trial, statements, lambda words: text_in(words, statements, least=least, most=most))
    if isinstance(claim, Score):
        return claim
    asking = Asking(judge, reading, lost, media_first, repeats)
    about = About({"place": trial.sample.metadata[object_key]}, claim.picture)
    found = yield from ask_words(asking, prompt, [about])
    return compared(found, [claim.says], {"claimed": claim.says})
