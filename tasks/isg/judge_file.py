"""Writes ISG-Bench's judge file: the answer lines with the verdicts of each level."""

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
    """Returns the name of the judge file for a file with ``count`` answers."""
    return f"{Path(answers).stem}_0_{count}_judge.jsonl"


def is_judged(scored: ScoredTrial) -> bool:
    """Returns True if each of the four levels is scored or lost its verdict."""
    for name in SCORES:
        score = scored.scores.get(name)
        if score is None:
            return False
        if score.status == "unscored" and "asked" not in score.evidence:
            return False
    return True


def has_lost_verdict(scored: ScoredTrial) -> bool:
    """Returns True if the line of a judged answer contains a null verdict."""
    unscored = any(scored.scores[name].status == "unscored" for name in SCORES)
    return unscored and not _is_empty(scored)


def judged(scored: ScoredTrial, line: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the line of a judged answer, as the released judge script writes it.

    A lost verdict is written as null, and the line of an empty answer contains no
    result. In the official profile the result is an error if the script fails on this
    sample, and ``image`` is null if it fails on the pictures.
    """
    if _is_empty(scored):
        return dict(line)
    structural, block, image, holistic = (scored.scores[name] for name in SCORES)
    if _ends(structural):
        return {**line, "result": {"error": structural.evidence["reason"]}}
    is_right = structural.value == 1
    result: dict[str, Any] = {"structure": is_right}
    if is_right:
        sample = scored.trial.sample
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


def _is_empty(scored: ScoredTrial) -> bool:
    return structure_of(scored.trial.output) == ""


def _ends(score: Score) -> bool:
    return str(score.evidence.get("reason", "")).startswith(ENDS_HERE)


def _questions(sample: Sample, kind: str) -> list[dict[str, Any]]:
    """Returns the questions of a row, with an empty object for a damaged question."""
    questions = listed(predict_of(sample).get(kind))
    return [dict(row) if isinstance(row, dict) else {} for row in questions]


def _block_rows(sample: Sample, score: Score) -> list[dict[str, Any]]:
    """Returns the questions about blocks with the judge's replies."""
    rows = _questions(sample, BLOCK_QUESTIONS)
    verdicts = score.evidence.get("verdicts", {})
    for number, row in enumerate(rows):
        verdict = verdicts.get(str(number))
        if verdict is None:
            continue
        reply: dict[str, Any] | None = None
        if "lost" not in verdict:
            reply = {}
            # A reply without Judge must not get one: null would count as a value.
            if UNREADABLE not in verdict:
                reply[VERDICT] = verdict.get(VERDICT)
            reply[REASON] = verdict.get(REASON, "")
        row["VQA_judge_Score"] = reply
    return rows


def _image_rows(sample: Sample, score: Score) -> list[dict[str, Any]]:
    """Returns the questions about pictures with the judge's replies.

    The evidence lists them in the order of the row.
    """
    replies = score.evidence.get("said", {})
    skipped = score.evidence.get("not_asked", {})
    verdicts = score.evidence.get("verdicts", {})
    rows = []
    questions = _questions(sample, IMAGE_QUESTIONS)
    for row, (name, verdict) in zip(questions, verdicts.items(), strict=False):
        reply = None
        if verdict != "unknown":
            reason = replies.get(name, {}).get(REASON, "")
            word = "Yes" if verdict == "yes" else "No"
            reply = {"Judge": word, REASON: reason}
        if name not in skipped:
            row["judge"] = reply
        rows.append(row)
    return rows
