"""ISG-Bench's second level: the relations between pairs of blocks."""

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
    yes_form,
)
from mmeval.metrics.judged.isg.rows import block_questions, structure_fault, unscorable
from mmeval.metrics.judged.material import as_the_reference
from mmeval.metrics.judged.reading import Lost, Reading
from mmeval.program import Program, Role
from mmeval.records import CAUSES, Score, Trial


@metric(
    range=scale,
    version="3",  # the judge is not asked to be strict
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
    """How well the relations between pairs of blocks match those that the row asks for.

    The mean of a judge's scores. Range 1 to 10 (unlimited with ``reading: official``),
    higher is better. The score is 1 without a judge call if the order of the blocks
    differs from the golden answer. The metric is inapplicable to a row without
    questions. A question is skipped and left out of the mean if its blocks are missing,
    or if it is about the whole answer. If no question has a score, the result is 1.

    ``reading: robust`` accepts a number (or a string with a number) from 1 to 10, and
    repeats the question after any other reply. ``reading: official`` reads like the
    released script, where a value that is not a number makes the score of the whole
    sample 1. The answer is unscored, with bounds, if a question has no verdict. ``lost:
    wrong`` leaves a question out if there were replies but none was usable.
    ``analyze_first`` requests the reason before the number. In the released words,
    ``reading: official`` also asks each question for yes or no, which the score does
    not use (``yes_no`` in the evidence). Evidence: the numbers of
    the questions that were ``asked``, the ``verdicts`` by number, and why the other
    questions were not asked.

    Labels, for example: ``{"predict": {"block_qa": {"questions": [{"subject":
    "<gen_text1>", "object": "<gen_img1>", "Question": "Does <gen_text1> describe this
    image?"}]}}}``.
    """
    if why := unscorable(trial):
        return Score.unscored(why)
    if fault := structure_fault(trial, reading):
        return Score(LOWEST, evidence={"asked": [], "reason": fault})
    if not block_questions(trial.sample):
        return Score.inapplicable("the row has no questions about blocks")
    prompts = PairPrompts(images_prompt, texts_prompt, text_image_prompt)
    yes_no = None
    if reading == "official":
        yes_no = yes_form(reading, analyze_first=analyze_first)
    verdicts = yield from ask_pairs(
        trial,
        judge,
        score_form(reading, analyze_first=analyze_first),
        prompts,
        yes_no=yes_no,
    )
    evidence = verdicts.evidence(lost)
    if reading == "official" and any(map(is_unfit, verdicts.by_number.values())):
        evidence["reason"] = "the released script cannot add up the numbers"
        return Score(LOWEST, evidence=evidence)
    numbers: list[float] = []
    for verdict in verdicts.by_number.values():
        number = verdict.values.get(VERDICT)
        if number is not None:
            numbers.append(number)
    unknown = verdicts.unknown(lost)
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
