"""The file of ``human-eval import`` of JudgeJudy: scores from 1 to 5 of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mmeval.errors import UsageError
from mmeval.trust.forms.contract import (
    FormRatings,
    RatingsForm,
    form_ratings,
    read_json,
    records,
)

_LOWEST, _HIGHEST = 1, 5


def _read(path: Path) -> FormRatings:
    document = read_json(path)
    if not isinstance(document, dict):
        raise UsageError(f"{path}: the file must be an object", file=path)
    rows = []
    outside = 0
    for record in records(path, document.get("evaluations"), "evaluations"):
        score = record.get("human_score")
        # JudgeJudy itself leaves out scores outside the scale
        if not _is_on_the_scale(score):
            outside += 1
            continue
        row = {
            "trial": record.get("test_case_id"),
            "rater": record.get("evaluator_name"),
            "value": score,
            "run": record.get("run_id") or document.get("run_id"),
            "kind": "grade",
            "comment": record.get("human_reasoning"),
            "at": record.get("scored_at"),
        }
        rows.append(row)
    skipped = {f"scores outside {_LOWEST} to {_HIGHEST}": outside} if outside else {}
    return form_ratings(path, rows, skipped)


def _is_on_the_scale(score: Any) -> bool:
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        return False
    return _LOWEST <= score <= _HIGHEST


FORM = RatingsForm("scores of people of JudgeJudy", _read)
