"""ISG-Bench's second level: do pairs of blocks stand in the relation that the task asks
for?"""

from __future__ import annotations

import math

from mmeval.metric import metric
from mmeval.metrics.judged.isg.pairs import (
    LikePrompt,
    PairPrompts,
    TextImagePrompt,
    ask_pairs,
    is_unfit,
)
from mmeval.metrics.judged.isg.replies import (
    HIGHEST,
    LOWEST,
    VERDICT,
    scale,
    score_form,
)
from mmeval.metrics.judged.isg.rows import block_questions, structure_fault, unscorable
from mmeval.metrics.judged.material import as_the_reference
from mmeval.metrics.judged.reading import Lost, Reading
from mmeval.program import Program, Role
from mmeval.records import CAUSES, Score, Trial


@metric(
    range=scale,
    version="2",
    source="ISG (ICLR 2025), block level; official: its released script de504cdd",
    profiles={"official": {"reading": "official"}},
    supposed=as_the_reference,
)
def isg_block(
    trial: Trial,
    judge: Role,
    *,
    reading: Reading = "robust",
    lost: Lost = "unscored",
    analyze_first: bool = False,
    images_prompt: LikePrompt = "isg_block_images",
    texts_prompt: LikePrompt = "isg_block_texts",
    text_image_prompt: TextImagePrompt = "isg_block_text_image",
) -> Program[Score]:
    """How well pairs of blocks stand in the relations that the row asks about: the mean
    of a judge's numbers.

    Range 1 to 10, higher is better; official: any number. 1 without a call where the
    order of the blocks is not that of the golden answer; inapplicable to a row without
    questions. One whose blocks are not there, or which is about the whole answer, is
    not asked and is left out of the mean; 1 where no number is left.

    ``reading: robust`` takes a number or a text that is one, within 1 to 10, and asks
    again after any other reply; ``official`` reads as the released script does, where a
    value that is not a number makes the whole sample 1. A question without a verdict
    leaves the score unscored, with bounds; ``lost: wrong`` leaves it out where replies
    came that could not be used. ``analyze_first`` asks for the reason before the
    number. Evidence: the numbers of the questions that were ``asked``, the ``verdicts``
    by number, and why the others were not asked.
    """
    if why := unscorable(trial):
        return Score.unscored(why)
    if fault := structure_fault(trial, reading):
        return Score(LOWEST, evidence={"asked": [], "reason": fault})
    if not block_questions(trial.sample):
        return Score.inapplicable("the row has no questions about blocks")
    prompts = PairPrompts(images_prompt, texts_prompt, text_image_prompt)
    found = yield from ask_pairs(
        trial, judge, score_form(reading, analyze_first=analyze_first), prompts
    )
    evidence = found.evidence(lost)
    if reading == "official" and any(map(is_unfit, found.given.values())):
        evidence["reason"] = "the released script cannot add up the numbers"
        return Score(LOWEST, evidence=evidence)
    numbers: list[float] = []
    for verdict in found.given.values():
        number = verdict.values.get(VERDICT)
        if number is not None:
            numbers.append(number)
    unknown = found.unknown(lost)
    if unknown:
        count = len(numbers) + len(unknown)
        low = (math.fsum(numbers) + len(unknown) * LOWEST) / count
        high = (math.fsum(numbers) + len(unknown) * HIGHEST) / count
        if reading == "official":
            low = LOWEST
        return Score(
            status="unscored",
            reason=unknown[0].lost,
            evidence=evidence,
            bounds=(low, high),
            cause=min((verdict.cause for verdict in unknown), key=CAUSES.index),
        )
    mean = LOWEST
    if numbers:
        mean = math.fsum(numbers) / len(numbers)
    return Score(mean, evidence=evidence)
