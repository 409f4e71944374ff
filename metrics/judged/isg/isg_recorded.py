"""ISG-Bench's four levels as a judge file of the released script has recorded them."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
    begins_empty = bool(blocks) and blocks[0].kind == "text" and blocks[0].text == ""
    answered = bool(blocks) and not begins_empty
    rows = [_levels(labels.get(RESULT), trial, reading, answered=answered)]
    if reading == "official":
        for line in labels.get(EARLIER, ()):
            rows.append(_levels(line[RESULT], trial, reading, answered=line[ANSWERED]))
    scores: dict[str, Score] = {}
    for name, values in zip(OUTPUTS, zip(*rows, strict=True), strict=True):
        known = [value for value in values if value is not None]
        if known:
            mean = math.fsum(known) / len(known)
            scores[name] = Score(mean, weight=len(known))
        else:
            why = "the judge file has no questions for this level"
            scores[name] = Score.inapplicable(why)
    return scores


def _levels(
    result: Any, trial: Trial, reading: Reading, *, answered: bool
) -> tuple[float | None, ...]:
    """The four levels by one line of the file."""
    image: float | None
    found: Mapping[str, Any] = {}
    if isinstance(result, Mapping) and "error" not in result:
        found = result
    if reading == "official":
        right = found.get("structure") is True
        image = _yes_share(found.get("image"), reading) or 0.0
    else:
        found = small_keys(found) if blocks_of(trial.output) else {}
        right = found.get("structure", found.get("structural")) is True
        image = None
        if image_questions(trial.sample):
            share = _yes_share(found.get("image"), reading)
            image = share if right and share else 0.0
    block: float | None = LOWEST
    if right:
        block = _block(found.get("block"), reading)
    holistic = LOWEST
    if answered:
        recorded = _read(found.get("holistic"), reading)
        score, _ = score_of(recorded, OVERALL, reading)
        holistic = LOWEST if score is None else score
    return (float(right), block, image, holistic)


def _block(rows: Any, reading: Reading) -> float | None:
    """The mean of the recorded numbers; 1 without a usable one, None without questions.
    Official oddity: a call that failed, and a value that is not a number, make the
    whole sample 1."""
    if not isinstance(rows, list | tuple) or not rows:
        return None
    known: list[float] = []
    is_spoilt = False
    for row in rows:
        if isinstance(row, Mapping) and "VQA_judge_Score" in row:
            recorded = row["VQA_judge_Score"]
            score, remark = score_of(_read(recorded, reading), VERDICT, reading)
            is_spoilt = is_spoilt or recorded is None or remark == "unfit"
            if score is not None:
                known.append(score)
    if not known or (is_spoilt and reading == "official"):
        return LOWEST
    return math.fsum(known) / len(known)


def _yes_share(rows: Any, reading: Reading) -> float | None:
    if not isinstance(rows, list | tuple) or not rows:
        return None
    count = 0
    for row in rows:
        recorded = row.get("judge") if isinstance(row, Mapping) else None
        count += says_yes(_read(recorded, reading), reading)
    return count / len(rows)


def _read(recorded: Any, reading: Reading) -> Mapping[str, Any]:
    """A recorded reply, ready for its readings; what is not an object has nothing."""
    if not isinstance(recorded, Mapping):
        return {}
    if reading == "official":
        return recorded
    return small_keys(recorded)
