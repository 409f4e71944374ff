"""The judge file of ISG-Bench's own scripts: the lines of the answers with the verdicts
of the four levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mmeval.interchange import ScoredTrial
from mmeval.metrics.judged.isg.replies import DIMENSIONS, OVERALL, REASON, VERDICT
from mmeval.metrics.judged.isg.rows import (
    BLOCK_QUESTIONS,
    ENDS_HERE,
    IMAGE_QUESTIONS,
    listed,
    predict_of,
    structure_of,
)
from mmeval.metrics.judged.reading import UNREADABLE
from mmeval.records import Sample, Score

SCORES = ("isg_structural", "isg_block", "isg_image", "isg_holistic")


def judge_file(answers: str, count: int) -> str:
    """The name of the judge file of a file with so many answers."""
    return f"{Path(answers).stem}_0_{count}_judge.jsonl"


def is_judged(one: ScoredTrial) -> bool:
    """True if an answer has all four levels, each with a score or a lost verdict."""
    for name in SCORES:
        score = one.scores.get(name)
        if score is None:
            return False
        if score.status == "unscored" and "asked" not in score.evidence:
            return False
    return True


def has_lost_verdict(one: ScoredTrial) -> bool:
    """True if the line of a judged answer has null for a verdict."""
    unscored = any(one.scores[name].status == "unscored" for name in SCORES)
    return unscored and not _is_empty(one)


def judged(one: ScoredTrial, line: Mapping[str, Any]) -> dict[str, Any]:
    """The line of a judged answer. An empty answer has no result."""
    return dict(line) if _is_empty(one) else {**line, "result": result_of(one)}


def _is_empty(one: ScoredTrial) -> bool:
    return structure_of(one.trial.output) == ""


def result_of(one: ScoredTrial) -> dict[str, Any]:
    """The levels of a trial as the released judge script writes them; a verdict that is
    lost is null. In the official profile a sample that ends there is an error, and
    pictures whose judging ends it are null."""
    structural, block, image, holistic = (one.scores[name] for name in SCORES)
    if _ends(structural):
        return {"error": structural.evidence["reason"]}
    right = structural.value == 1
    result: dict[str, Any] = {"structure": right}
    if right:
        result["block"] = list(_block_rows(one.trial.sample, block))
        result["image"] = (
            None if _ends(image) else list(_image_rows(one.trial.sample, image))
        )
    return {**result, "holistic": _holistic(holistic)}


def _ends(score: Score) -> bool:
    return str(score.evidence.get("reason", "")).startswith(ENDS_HERE)


def _block_rows(sample: Sample, score: Score) -> Iterator[dict[str, Any]]:
    verdicts = score.evidence.get("verdicts", {})
    for number, row in enumerate(listed(predict_of(sample).get(BLOCK_QUESTIONS))):
        said = verdicts.get(str(number))
        yield {
            **(row if isinstance(row, dict) else {}),
            **({} if said is None else {"VQA_judge_Score": _reply(said)}),
        }


def _image_rows(sample: Sample, score: Score) -> Iterator[dict[str, Any]]:
    """The questions with what the judge said; the evidence has them in the order of the
    row."""
    said, verdicts = score.evidence.get("said", {}), score.evidence.get("verdicts", {})
    unasked = score.evidence.get("not_asked", {})
    rows = listed(predict_of(sample).get(IMAGE_QUESTIONS))
    for row, (name, verdict) in zip(rows, verdicts.items(), strict=False):
        reply = {
            "Judge": "Yes" if verdict == "yes" else "No",
            REASON: said.get(name, {}).get(REASON, ""),
        }
        judged = (
            {}
            if name in unasked
            else {"judge": None if verdict == "unknown" else reply}
        )
        yield {**(row if isinstance(row, dict) else {}), **judged}


def _holistic(score: Score) -> dict[str, Any] | None:
    if OVERALL not in score.evidence:
        return None
    scores = score.evidence.get("dimensions", {})
    said = {
        name: {"score": scores[name], "explanation": ""}
        for name in DIMENSIONS
        if name in scores
    }
    return {**said, OVERALL: score.evidence[OVERALL], "final_thoughts": ""}


def _reply(said: Mapping[str, Any]) -> dict[str, Any] | None:
    """What was said; a reply without ``Judge`` stays without, since null would count as
    a value."""
    if "lost" in said:
        return None
    return {
        **({} if UNREADABLE in said else {VERDICT: said.get(VERDICT)}),
        REASON: said.get(REASON, ""),
    }
