"""Self count: does the picture show as many things as the answer says?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmeval.judge import Repeats
from mmeval.metric import metric
from mmeval.metrics.image.pictures import NEEDS
from mmeval.metrics.judged.pictures.asking import PLAIN_REPLIES, Asking, ChoicePrompt, Lost
from mmeval.metrics.judged.pictures.claims import OFFICIAL_CLAIMS, claim_of, supposing
from mmeval.metrics.judged.pictures.judge_count import FEWEST, MOST, Counts, ask_count, counted
from mmeval.metrics.judged.reading import Reading
from mmeval.metrics.produced import wrong
from mmeval.metrics.structure.self_description import Statements, count_in
from mmeval.program import Program, Role
from mmeval.records import Sample, Score, Trial


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    counts = Counts(switches["fewest"], switches["most"])
    if isinstance(sample.metadata.get(switches["object_key"]), str):
        return counts.fault
    return f"the row has no text under {switches['object_key']!r}"


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, Self Count; official: interleaved evaluators 30c9f602",
    needs=NEEDS,
    profiles={"official": {**PLAIN_REPLIES, **OFFICIAL_CLAIMS}},
    check=_fault,
    supposed=supposing(lambda _, switches: f"<count>{switches['fewest']}</count>"),
)
def judge_self_count(
    trial: Trial,
    judge: Role,
    *,
    object_key: str = "object",
    fewest: int = FEWEST,
    most: int = MOST,
    statements: Statements = "standard",
    reading: Reading = "robust",
    lost: Lost = "unscored",
    media_first: bool = True,
    repeats: Repeats = 1,
    prompt: ChoicePrompt = "picture_count",
) -> Program[Score]:
    """1 when the judge counts as many of the row's things in the picture as the answer itself says, else 0.

    Range 0 to 1, higher is better. The answer says it as ``<count>4</count>``, from ``fewest`` to ``most``; one that
    says nothing of the kind, or has not exactly one picture in one place, is 0 and nobody is asked. ``statements:
    official`` reads the last digit alone, so that 14 is 4. Everything else as in ``judge_count``. Evidence:
    ``claimed``, ``answer``, ``counted``, the judge's own words.
    """
    if fault := _fault(trial.sample, {"object_key": object_key, "fewest": fewest, "most": most}):
        return Score.unscored(fault)
    claim = claim_of(trial, statements, lambda words: count_in(words, statements))
    if isinstance(claim, Score):
        return claim
    counts = Counts(fewest, most)
    if not fewest <= claim.says <= most:
        return wrong(f"the answer says {claim.says}; {fewest} to {most} were asked for")
    asking = Asking(judge, reading, lost, media_first, repeats)
    found = yield from ask_count(asking, prompt, trial.sample.metadata[object_key], claim.picture, counts)
    return found.is_(counts.letter(claim.says)).scored({"claimed": claim.says, **counted(found, counts)})
