"""ISG-Bench's four levels, read from a judge file of the released script."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mmeval.metric import MetricScores, Range, metric
from mmeval.metrics.judged.isg.replies import (
    LOWEST,
    OVERALL,
    VERDICT,
    lower_keys,
    says_yes,
    scale,
    score_of,
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
"""Labels that a sample gets from the judge file. ``result`` is the sample's result.
``earlier`` lists the ``result`` and ``answered`` of each earlier line with the same id.
``answered`` is true if the line contains an answer that does not begin with an empty
text."""


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
    """The four levels of an answer, computed from the verdicts in a judge file.

    ``isg_recorded_structural`` and ``isg_recorded_image`` are from 0 to 1,
    ``isg_recorded_block`` and ``isg_recorded_holistic`` from 1 to 10; higher is better.
    The label ``result`` contains the verdicts, and no judge is called. A question that
    was not asked is left out of the mean (block) or counts as no (image). Without a
    result or an answer, the structural and image levels are 0, and the block and
    holistic levels are 1.

    ``reading: official`` reads the file like the released aggregator, oddities
    included. The answer then only affects the holistic level. If an id is repeated, the
    value is the mean of its lines, and the weight is the number of lines.

    Labels, for example: ``{"result": {"structure": true, "block": [], "image": [],
    "holistic": {"overall_score": 7}}}``.
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
            reason = "the judge file has no questions for this level"
            scores[name] = Score.inapplicable(reason)
    return scores


def _levels(
    result: Any, trial: Trial, reading: Reading, *, answered: bool
) -> tuple[float | None, ...]:
    """Computes the four levels from one line of the file."""
    image: float | None
    levels: Mapping[str, Any] = {}
    if isinstance(result, Mapping) and "error" not in result:
        levels = result
    if reading == "official":
        has_structure = levels.get("structure") is True
        image = _yes_share(levels.get("image"), reading) or 0.0
    else:
        levels = lower_keys(levels) if blocks_of(trial.output) else {}
        has_structure = levels.get("structure", levels.get("structural")) is True
        image = None
        if image_questions(trial.sample):
            share = _yes_share(levels.get("image"), reading)
            image = share if has_structure and share else 0.0
    block: float | None = LOWEST
    if has_structure:
        block = _block(levels.get("block"), reading)
    holistic = LOWEST
    if answered:
        recorded = _read(levels.get("holistic"), reading)
        score, _ = score_of(recorded, OVERALL, reading)
        holistic = LOWEST if score is None else score
    return (float(has_structure), block, image, holistic)


def _block(rows: Any, reading: Reading) -> float | None:
    """Returns the mean of the recorded numbers, or None without questions.

    The mean is 1 if no number is usable. Official oddity: a failed call, or a value
    that is not a number, makes the score of the whole sample 1.
    """
    if not isinstance(rows, list | tuple) or not rows:
        return None
    known: list[float] = []
    is_unfit = False
    for row in rows:
        if isinstance(row, Mapping) and "VQA_judge_Score" in row:
            recorded = row["VQA_judge_Score"]
            score, remark = score_of(_read(recorded, reading), VERDICT, reading)
            is_unfit = is_unfit or recorded is None or remark == "unfit"
            if score is not None:
                known.append(score)
    if not known or (is_unfit and reading == "official"):
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
    """Returns a recorded reply as an object.

    The object is empty for any other value.
    """
    if not isinstance(recorded, Mapping):
        return {}
    if reading == "official":
        return recorded
    return lower_keys(recorded)
