"""The judge file of ISG-Bench's own scripts: the lines of the answers with the verdicts
of the four levels."""

from __future__ import annotations

from collections.abc import Mapping
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
    """The line of a judged answer, with its levels as the released judge script writes
    them; a verdict that is lost is null. An empty answer has no result. In the official
    profile a sample that ends there is an error, and pictures whose judging ends it are
    null."""
    if _is_empty(one):
        return dict(line)
    structural, block, image, holistic = (one.scores[name] for name in SCORES)
    if _ends(structural):
        return {**line, "result": {"error": structural.evidence["reason"]}}
    is_right = structural.value == 1
    result: dict[str, Any] = {"structure": is_right}
    if is_right:
        sample = one.trial.sample
        result["block"] = _block_rows(sample, block)
        result["image"] = None if _ends(image) else _image_rows(sample, image)
    result["holistic"] = None
    if OVERALL in holistic.evidence:
        overall: dict[str, Any] = {}
        scores = holistic.evidence.get("dimensions", {})
        for name in DIMENSIONS:
            if name in scores:
                overall[name] = {"score": scores[name], "explanation": ""}
        overall[OVERALL] = holistic.evidence[OVERALL]
        overall["final_thoughts"] = ""
        result["holistic"] = overall
    return {**line, "result": result}


def _is_empty(one: ScoredTrial) -> bool:
    return structure_of(one.trial.output) == ""


def _ends(score: Score) -> bool:
    return str(score.evidence.get("reason", "")).startswith(ENDS_HERE)


def _questions(sample: Sample, kind: str) -> list[dict[str, Any]]:
    """The questions of a row; one that is damaged is empty."""
    questions = listed(predict_of(sample).get(kind))
    return [dict(row) if isinstance(row, dict) else {} for row in questions]


def _block_rows(sample: Sample, score: Score) -> list[dict[str, Any]]:
    """The questions with the judge's replies."""
    rows = _questions(sample, BLOCK_QUESTIONS)
    verdicts = score.evidence.get("verdicts", {})
    for number, row in enumerate(rows):
        verdict = verdicts.get(str(number))
        if verdict is None:
            continue
        reply: dict[str, Any] | None = None
        if "lost" not in verdict:
            reply = {}
            # a reply without Judge stays without: null would count as a value
            if UNREADABLE not in verdict:
                reply[VERDICT] = verdict.get(VERDICT)
            reply[REASON] = verdict.get(REASON, "")
        row["VQA_judge_Score"] = reply
    return rows


def _image_rows(sample: Sample, score: Score) -> list[dict[str, Any]]:
    """The questions with the judge's replies; the evidence has them in the order of the
    row."""
    replies = score.evidence.get("said", {})
    unasked = score.evidence.get("not_asked", {})
    verdicts = score.evidence.get("verdicts", {})
    rows = []
    questions = _questions(sample, IMAGE_QUESTIONS)
    for row, (name, verdict) in zip(questions, verdicts.items(), strict=False):
        reply = None
        if verdict != "unknown":
            reason = replies.get(name, {}).get(REASON, "")
            word = "Yes" if verdict == "yes" else "No"
            reply = {"Judge": word, REASON: reason}
        if name not in unasked:
            row["judge"] = reply
        rows.append(row)
    return rows
