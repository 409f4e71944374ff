"""Pattern: do the answer's words and its picture agree with a geometric pattern?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmeval.judge import Repeats
from mmeval.metric import metric
from mmeval.metrics.image.pictures import NEEDS
from mmeval.metrics.judged.pictures.asking import (
    PLAIN_REPLIES,
    About,
    Asking,
    DrawnPrompt,
    Lost,
    PatternPrompt,
    ask,
    presence,
)
from mmeval.metrics.judged.pictures.claims import OFFICIAL_CLAIMS, supposing
from mmeval.metrics.judged.pictures.looked_at import last_picture
from mmeval.metrics.judged.pictures.worth import product
from mmeval.metrics.judged.reading import Reading
from mmeval.metrics.produced import wrong
from mmeval.metrics.structure.self_description import Statements, pattern_in, said_by
from mmeval.program import Program, Role
from mmeval.records import Sample, Score, Trial


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    if isinstance(sample.metadata.get(switches["pattern_key"]), str):
        return ""
    return f"the row has no text under {switches['pattern_key']!r}"


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, Interleaved Math; official: interleaved evaluators 30c9f602",
    needs=NEEDS,
    profiles={"official": {**PLAIN_REPLIES, **OFFICIAL_CLAIMS}},
    check=_fault,
    supposed=supposing(lambda *_: "<<a pattern>>"),
)
def judge_pattern(
    trial: Trial,
    judge: Role,
    *,
    pattern_key: str = "pattern",
    statements: Statements = "standard",
    reading: Reading = "robust",
    lost: Lost = "unscored",
    media_first: bool = True,
    repeats: Repeats = 1,
    prompt: PatternPrompt = "pattern_described",
    picture_prompt: DrawnPrompt = "pattern_drawn",
) -> Program[Score]:
    """1 when the judge finds that both the answer's words and its last picture agree with the row's pattern, else 0.

    Range 0 to 1, higher is better. The answer's words for it are the first ``<<...>>`` on one line; the label
    ``pattern_key`` describes the true pattern. An answer without these words, without a picture in a place, or whose
    last picture cannot be decoded is 0 and nobody is asked. Unscored without the label, or where a reply is lost that
    matters; ``lost: wrong`` (profile ``official``) as in ``judge_presence``. ``reading: official`` looks for "yes" in
    the last 20 characters of the reply; ``statements: official`` takes the answer's words as the release cuts them.
    ``media_first`` puts the picture before the words, ``repeats`` lets the majority decide. Evidence: ``claimed``,
    ``words`` and ``picture`` with the judge's own words.
    """
    if fault := _fault(trial.sample, {"pattern_key": pattern_key}):
        return Score.unscored(fault)
    picture = last_picture(trial, statements)
    if isinstance(picture, Score):
        return picture
    assert trial.output is not None  # there is a picture in it
    claim = pattern_in(said_by(trial.output, statements).words)
    if claim is None:
        return wrong("the answer does not describe the pattern in <<...>>")
    pattern = trial.sample.metadata[pattern_key]
    asking = Asking(judge, reading, lost, media_first, repeats)
    described = presence(asking, prompt, About({"pattern": pattern, "claim": claim}))
    drawn = presence(asking, picture_prompt, About({"pattern": pattern}, picture))
    words, seen = yield from ask([described, drawn], repeats=repeats)
    evidence = {"claimed": claim, "words": words.evidence, "picture": seen.evidence}
    return product([words.is_("yes"), seen.is_("yes")]).scored(evidence)
