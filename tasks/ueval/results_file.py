"""Writes UEval's results file: each question's verdicts, and means over questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.aggregate import known_mean
from mmeval.interchange import ScoredTrial
from mmeval.metrics.judged.ueval.replies import EXPLANATION, KEY
from mmeval.metrics.judged.ueval.ueval_rubric import OUTPUTS
from mmeval.records import Score

TEXT, IMAGE = OUTPUTS


def results_file(answers: str) -> str:
    """Returns the name of the results file that belongs to an answer file."""
    return answers.replace("answers", "results")


def item_of(
    scored: ScoredTrial,
    text: str,
    pictures: Sequence[str],
) -> dict[str, Any]:
    """Returns a question with its answer and its scores."""
    sample = scored.trial.sample
    unscored = Score.unscored("not scored")
    text_score = scored.scores.get(TEXT, unscored)
    image_score = scored.scores.get(IMAGE, unscored)
    return {
        "id": sample.id,
        "question": sample.question,
        "question_type": image_score.evidence.get("kind"),
        "text_answer": text,
        "image_outputs": pictures,
        "text_results": _verdicts(text_score),
        "image_results": _verdicts(image_score),
        "text_score": _rate(text_score),
        "image_score": _rate(image_score),
    }


def _verdicts(score: Score) -> list[dict[str, Any]]:
    verdicts = []
    for row in score.evidence.get("criteria", ()):
        is_odd = row.get("remark") in ("not_sure", "odd_value")
        verdicts.append(
            {
                "criterion": row["criterion"],
                KEY: row["raw"] if is_odd else row["met"],
                EXPLANATION: row.get(EXPLANATION, ""),
                "raw_response": row.get("reply", ""),
            }
        )
    return verdicts


def _rate(score: Score) -> dict[str, Any]:
    return {
        "met": score.evidence.get("met", 0),
        "total": score.evidence.get("total", 0),
        "rate": score.value,
    }


def summary_of(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Computes the means over questions."""
    text = [item["text_score"]["rate"] for item in items]
    image = [item["image_score"]["rate"] for item in items]
    return {
        "num_items": len(items),
        "text_avg_rate": known_mean(text),
        "image_avg_rate": known_mean(image),
        "num_items_with_text": len(items) - text.count(None),
        "num_items_with_image": len(items) - image.count(None),
    }
