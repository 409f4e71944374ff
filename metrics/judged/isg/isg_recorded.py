"""ISG-Bench's four levels as a judge file of the released script has recorded them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.metric import MetricScores, Range, metric
from mmeval.metrics.judged.isg.replies import (
    LOWEST,
    OVERALL,
    VERDICT,
    says_yes,
    scale,
    score_of,
    small_keys,
)
from mmeval.metrics.judged.isg.rows import blocks_of, image_questions
from mmeval.metrics.judged.reading import Reading
from mmeval.records import Score, Trial

OUTPUTS = (
    "isg_recorded_structural",
    "isg_recorded_block",
    "isg_recorded_image",
    "isg_recorded_holistic",
)
RESULT, EARLIER, ANSWERED = "result", "earlier", "answered"
"""The labels that hold what the judge file says of a sample, and what earlier lines of
the same id say: a list of ``result`` with ``answered``, whether the line has an answer
that does not begin with an empty text."""


def _ranges(
    _pieces: Mapping[str, Range], switches: Mapping[str, Any]
) -> Mapping[str, Range]:
    share, score = (0.0, 1.0), scale({}, switches)
    return dict(zip(OUTPUTS, (share, score, share, score), strict=True))


@metric(
    range=_ranges,
    version="2",
    source="ISG (ICLR 2025); official: its released aggregator de504cdd",
    outputs=OUTPUTS,
    profiles={"official": {"reading": "official"}},
)
def isg_recorded(trial: Trial, *, reading: Reading = "robust") -> MetricScores:
    """The four levels of an answer by the verdicts of a judge file, the label
    ``result``, without asking a judge.

    ``isg_recorded_structural`` and ``_image`` are from 0 to 1, ``_block`` and
    ``_holistic`` from 1 to 10; higher is better. Nothing is computed again: a question
    that was not asked is left out of the mean (block) or is no (image). Without a
    result or an answer the levels are 0, 1, 0 and 1. ``reading: official`` takes the
    file as the released aggregator does, oddities included; the answer then decides
    about the holistic level alone, and each line of an id that stands again counts: the
    value is their mean, with their number as its weight.
    """
    labels, blocks = trial.sample.metadata, blocks_of(trial.output)
    answered = bool(blocks) and not (blocks[0].kind == "text" and blocks[0].text == "")
    rows = [_levels(labels.get(RESULT), trial, reading, answered=answered)]
    if reading == "official":
        rows += [
            _levels(one[RESULT], trial, reading, answered=one[ANSWERED])
            for one in labels.get(EARLIER, ())
        ]
    return {
        name: _together(values)
        for name, values in zip(OUTPUTS, zip(*rows, strict=True), strict=True)
    }


def _together(values: Sequence[float | None]) -> Score:
    known = [value for value in values if value is not None]
    if not known:
        return Score.inapplicable("the judge file has no questions for this level")
    return Score(math.fsum(known) / len(known), weight=len(known))


def _levels(
    result: Any, trial: Trial, reading: Reading, *, answered: bool
) -> tuple[float | None, ...]:
    """The four levels by one line of the file."""
    found: Mapping[str, Any] = (
        result if isinstance(result, Mapping) and "error" not in result else {}
    )
    if reading == "official":
        right = found.get("structure") is True
        image: float | None = _yes_share(_rows(found.get("image")), reading) or 0.0
    else:
        found = small_keys(found) if blocks_of(trial.output) else {}
        right = found.get("structure", found.get("structural")) is True
        rows = _rows(found.get("image"))
        share = _yes_share(rows, reading) if right else None
        image = (share or 0.0) if image_questions(trial.sample) else None
    block = _block(_rows(found.get("block")), reading) if right else LOWEST
    return (
        float(right),
        block,
        image,
        _holistic(found.get("holistic"), reading) if answered else LOWEST,
    )


def _block(rows: Sequence[Any], reading: Reading) -> float | None:
    """The mean of the recorded numbers; 1 without a usable one, None without questions.
    Official oddity: a call that failed, and a value that is not a number, make the
    whole sample 1."""
    if not rows:
        return None
    judged = [
        row["VQA_judge_Score"]
        for row in rows
        if isinstance(row, Mapping) and "VQA_judge_Score" in row
    ]
    scores = [score_of(_read(one, reading), VERDICT, reading) for one in judged]
    if reading == "official" and (
        None in judged or any(remark == "unfit" for _, remark in scores)
    ):
        return LOWEST
    known = [score for score, _ in scores if score is not None]
    return math.fsum(known) / len(known) if known else LOWEST


def _yes_share(rows: Sequence[Any], reading: Reading) -> float | None:
    if not rows:
        return None
    judged = (row.get("judge") if isinstance(row, Mapping) else None for row in rows)
    return sum(says_yes(_read(one, reading), reading) for one in judged) / len(rows)


def _holistic(recorded: Any, reading: Reading) -> float:
    score, _ = score_of(_read(recorded, reading), OVERALL, reading)
    return LOWEST if score is None else score


def _read(recorded: Any, reading: Reading) -> Mapping[str, Any]:
    """A recorded reply, ready for its readings; what is not an object has nothing."""
    if not isinstance(recorded, Mapping):
        return {}
    return recorded if reading == "official" else small_keys(recorded)


def _rows(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
