"""ISG-Bench's fourth level: the quality of the whole answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from mmeval.media import Interleaved, Part, text_item, text_part
from mmeval.metric import metric
from mmeval.metric.judge import UNREAD, Question, ask_verdicts
from mmeval.metrics.judged.isg.pairs import verdict_evidence
from mmeval.metrics.judged.isg.replies import (
    HIGHEST,
    LOWEST,
    OVERALL,
    scale,
    whole_form,
)
from mmeval.metrics.judged.isg.rows import (
    blocks_of,
    ends_early,
    is_shown,
    structure_fault,
    unscorable,
)
from mmeval.metrics.judged.material import Material, as_the_reference, question_content
from mmeval.metrics.judged.reading import Lost, Reading, is_unknown, is_unread
from mmeval.program import JudgePrompt, Program, PromptFile, PromptValue, Role
from mmeval.records import Score, Trial

Prompt = Annotated[PromptValue, JudgePrompt("query", "answer", "golden", form=False)]


@metric(
    range=scale,
    version="3",  # asks for explanations; the golden answer is not commented on
    source="ISG (ICLR 2025), holistic level; official: its released script de504cdd",
    profiles={"official": {"reading": "official"}},
    supposed=as_the_reference,
)
def isg_holistic(
    trial: Trial,
    judge: Role,
    *,
    reading: Reading = "robust",
    lost: Lost = "unscored",
    analyze_first: bool = False,
    with_golden: bool = True,
    prompt: Prompt = "isg_holistic",
) -> Program[Score]:
    """The overall score that a judge gives to the whole answer.

    Range 1 to 10 (unlimited with ``reading: official``), higher is better. The judge
    sees the task, the answer and the golden answer; ``with_golden: false`` hides the
    golden answer, as in an ablation of the paper. The answer is judged even if its
    structure is wrong. An answer that is empty, or that begins with an empty text,
    scores 1 without a judge call. The overall score is used as the judge reports it,
    and the scores of the five dimensions are only evidence.

    ``reading: robust`` accepts a number (or a string with a number) from 1 to 10, and
    repeats the question after any other reply. ``reading: official`` accepts any
    number. If there is no verdict, the answer is unscored, with bounds. With ``lost:
    wrong`` the score is 1 if there were replies but none was usable. ``analyze_first``
    requests the explanations before the numbers. Evidence: the overall score, and the
    ``dimensions``.
    """
    if why := unscorable(trial):
        return Score.unscored(why)
    blocks = blocks_of(trial.output)
    fault = ""
    if not blocks or blocks[0].text == "":
        fault = "the answer is empty, or begins with an empty text"
    elif reading == "official" and ends_early(trial):
        fault = structure_fault(trial, reading)
    if fault:
        return Score(LOWEST, evidence={"asked": [], "reason": fault})
    # The released script sends each block as an item of its own.
    shown = _in_items if PromptFile.of(prompt).released else _in_lines
    values: Material = {
        "query": shown(question_content(trial.sample)),
        "answer": shown(trial.output or Interleaved()),
        "golden": "",
    }
    if with_golden:
        values["golden"] = shown(trial.sample.references[0])
    form = whole_form(reading, analyze_first=analyze_first)
    (verdict,) = yield from ask_verdicts([Question(judge, form, prompt, values)])
    evidence = {"asked": [0], **verdict_evidence(verdict)}
    if is_unknown(verdict, lost):
        return Score(
            status="unscored",
            reason=verdict.lost,
            evidence=evidence,
            bounds=(LOWEST, HIGHEST),
            cause=verdict.cause,
        )
    if is_unread(verdict, lost):
        evidence[UNREAD] = 1
    value = verdict.values.get(OVERALL)
    if value is None:
        value = LOWEST
    return Score(value, evidence=evidence)


def _in_items(content: Interleaved) -> Interleaved:
    """Returns each block as an item of a request. Other files are left out."""
    parts: list[Part] = []
    for part in blocks_of(content):
        if part.kind == "text":
            parts.append(text_item(part.text or ""))
        elif part.kind != "image" or is_shown(part):
            parts.append(replace(part, raw=""))
    return Interleaved(tuple(parts))


def _in_lines(content: Interleaved) -> Interleaved:
    """Writes each text on one line, and leaves out files that are not pictures."""
    parts: list[Part] = []
    for part in blocks_of(content):
        if part.kind == "text":
            parts.append(text_part(f"{' '.join((part.text or '').splitlines())}\n"))
        elif part.kind != "image" or is_shown(part):
            parts.append(replace(part, raw=""))
    return Interleaved(tuple(parts))
