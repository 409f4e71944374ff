"""The file of ``precomputed_scores`` of Inspect: one value for each sample and epoch.

The form has no raters. What it states counts as the value of one rater.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from mmeval.errors import UsageError
from mmeval.trust.forms.contract import (
    FormRatings,
    RatingsForm,
    Row,
    about_trial,
    form_ratings,
    mapping,
    read_json,
    records,
)
from mmeval.trust.human_values import HumanValue, first_passes, human_value
from mmeval.trust.records import Rating

_RATER = "inspect"


def _read(path: Path) -> FormRatings:
    rows: dict[tuple[str, str], Row] = {}
    for record in records(path, read_json(path)):
        name, epoch = str(record.get("id", "")), record.get("epoch")
        place = (name, str(epoch))
        if place in rows:
            of_epoch = "" if epoch is None else f", epoch {epoch}"
            raise UsageError(
                f"{path}: {name!r}{of_epoch} has two values; keep one of them",
                file=path,
            )
        metadata = mapping(record.get("metadata"))
        row = {
            **about_trial(metadata),
            "trial": name if epoch is None else f"{name}/{epoch}",
            "rater": metadata.get("rater") or _RATER,
            "value": record.get("value"),
            "comment": record.get("explanation"),
        }
        if epoch is not None:
            row.setdefault("sample", name)
        rows[place] = row
    return form_ratings(path, list(rows.values()), {})


def _write(ratings: Sequence[Rating], human: HumanValue) -> str:
    """Returns one record a trial with its human value. Raises UsageError if the ratings
    answer several questions, or two runs have the same trial."""
    questions = {rating.question for rating in ratings}
    if len(questions) > 1:
        raise UsageError(
            f"the form has one value a trial, but the ratings answer {len(questions):,}"
            " questions; choose one with --question"
        )
    records_of_trials: dict[str, Row] = {}
    for (run, trial), of_trial in first_passes(ratings).items():
        if trial in records_of_trials:
            raise UsageError(
                f"the form has one value a trial, but two runs have {trial!r}"
            )
        values = [rating.value for rating in of_trial if rating.value is not None]
        value = human_value(values, human)
        if value is None:
            continue
        metadata: Row = {"raters": len(of_trial), "human": human}
        if run:
            metadata["run"] = run
        records_of_trials[trial] = {"id": trial, "value": value, "metadata": metadata}
    return json.dumps(list(records_of_trials.values()), indent=1, ensure_ascii=False)


FORM = RatingsForm("precomputed_scores of Inspect, one value a trial", _read, _write)
