"""ISG-Bench's block level, with yes or no in place of numbers: the weaker mode of the
paper."""

from __future__ import annotations

from mmeval.metric import metric
from mmeval.metrics.judged.isg.pairs import (
    ImagesPrompt,
    PairPrompts,
    TextImagePrompt,
    TextsPrompt,
    ask_pairs,
)
from mmeval.metrics.judged.isg.replies import VERDICT, yes_form
from mmeval.metrics.judged.isg.rows import block_questions, structure_fault, unscorable
from mmeval.metrics.judged.material import as_the_reference
from mmeval.metrics.judged.pictures.worth import mean, unknown, worth
from mmeval.metrics.judged.reading import Lost, Reading, is_unknown
from mmeval.program import Program, Role
from mmeval.records import Score, Trial


@metric(
    range=(0, 1),
    version="2",
    source="ISG (ICLR 2025), block level, yes or no; official: its released script "
    "de504cdd",
    profiles={"official": {"reading": "official"}},
    supposed=as_the_reference,
)
def isg_block_yes_no(
    trial: Trial,
    judge: Role,
    *,
    reading: Reading = "robust",
    lost: Lost = "unscored",
    analyze_first: bool = False,
    images_prompt: ImagesPrompt = "isg_block_images",
    texts_prompt: TextsPrompt = "isg_block_texts",
    text_image_prompt: TextImagePrompt = "isg_block_text_image",
) -> Program[Score]:
    """The share of the questions of :func:`isg_block` to which a judge says yes.

    Range 0 to 1, higher is better; 0 without the right structure. Agrees less with
    people than the numbers do (0.446 against 0.718), so that no task lists it. Its
    switches and evidence are those of ``isg_block``; ``lost: wrong`` counts a question
    without a verdict as no.
    """
    if why := unscorable(trial):
        return Score.unscored(why)
    if fault := structure_fault(trial, reading):
        return Score(0.0, evidence={"asked": [], "reason": fault})
    if not block_questions(trial.sample):
        return Score.inapplicable("the row has no questions about blocks")
    prompts = PairPrompts(images_prompt, texts_prompt, text_image_prompt, scored="")
    found = yield from ask_pairs(
        trial, judge, yes_form(reading, analyze_first=analyze_first), prompts
    )
    if not found.given:
        return Score(0.0, evidence=found.evidence(lost))
    worths = [
        unknown(one.lost, one.cause)
        if is_unknown(one, lost)
        else worth(bool(one.values.get(VERDICT)))
        for one in found.given.values()
    ]
    return mean(worths).scored(found.evidence(lost))
