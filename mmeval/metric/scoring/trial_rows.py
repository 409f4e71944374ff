"""Converts a trial to a line for a scoring process, and to a row of scores.

A line consists of JSON from the journal and the sample file. It is decoded once, and
all metrics of the task score the same objects. For the processes, see
:mod:`mmeval.metric.scoring.scorer`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmeval.media.parts import Interleaved
from mmeval.metric.apply import NO_LIMIT, failed, score_all, score_one
from mmeval.metric.bound import BoundMetric
from mmeval.metric.derived import BY_MISSING_OUTPUT, BY_REFUSAL
from mmeval.metric.result import MetricScores, writable
from mmeval.records.response import ErrorInfo, Response
from mmeval.records.sample import Sample
from mmeval.records.score import Refusals, Score
from mmeval.records.trial import Exchange, Trial, is_only_answer, is_refused
from mmeval.system.json_lines import sealed, to_line
from mmeval.system.time_limit import TimeLimit


@dataclass(frozen=True)
class ScoringPlan:
    """The information about a task that a scoring process needs.

    ``metrics`` are tuples (plugin name, switches, profile), because metrics cannot be
    pickled. ``unavailable`` maps outputs to reasons that are known before the run.
    ``batch`` is the number of trials that a metric scores at once. It is at least 1 if
    a metric needs a model. If it is 0, any process may score the task. Otherwise, only
    the process with the models scores it.
    """

    task: str
    metrics: tuple[tuple[str, Mapping[str, Any], str], ...]
    unavailable: Mapping[str, str]
    missing_output: float | None
    labels: tuple[str, ...]
    cluster_key: str
    media_root: Path
    judged_outputs: tuple[str, ...] = ()
    refusals: Refusals = "scored"
    batch: int = 0


def trial_line(
    trial: Trial,
    sample_line: bytes,
    *,
    index: int,
    digest: str,
    responses: Sequence[bytes],
) -> bytes:
    """Returns a trial as JSON.

    ``output`` is left out if it equals the output of the only exchange.

    ``responses`` are the responses of its exchanges, as in the journal.
    """
    calls = []
    for exchange, response in zip(trial.exchanges, responses, strict=True):
        path, role = exchange.path.encode(), to_line(exchange.role)
        call = (path, role, exchange.request_digest.encode(), response)
        calls.append(b'{"path":"%s","role":%s,"d":"%s","response":%s}' % call)
    tail = b""
    if trial.output is not None and not is_only_answer(trial):
        tail += b',"output":' + to_line(trial.output.to_json())
    if trial.error is not None:
        tail += b',"error":' + to_line(trial.error.to_json())
    if trial.left_out:
        tail += b',"left_out":' + to_line(trial.left_out)
    place = (index, trial.repeat, digest.encode(), sample_line)
    head = b'{"i":%d,"n":%d,"d":"%s","sample":%s' % place
    return b'%s,"exchanges":[%s]%s}' % (head, b",".join(calls), tail)


def trial_from(
    row: Mapping[str, Any], media_root: Path, *, sample: Sample | None = None
) -> Trial:
    """Returns the trial of a :func:`trial_line` line.

    If ``sample`` is given, the sample in the line is not decoded again.
    """
    exchanges = []
    for call in row["exchanges"]:
        response = Response.from_json(call["response"], media_root)
        exchanges.append(Exchange(call["path"], call["role"], call["d"], response))
    error = row.get("error")
    if error is not None:
        output = None
    elif "output" in row:
        output = Interleaved.from_json(row["output"], media_root)
    else:
        output = exchanges[0].response.output
    return Trial(
        sample=sample or Sample.from_json(row["sample"], media_root),
        repeat=row["n"],
        exchanges=tuple(exchanges),
        output=output,
        error=None if error is None else ErrorInfo.from_json(error),
        left_out=tuple(row.get("left_out", ())),
    )


def score_row(
    row: Mapping[str, Any], trial: Trial, plan: ScoringPlan, scores: Mapping[str, Score]
) -> bytes:
    """Returns one line of a score set."""
    status = "ok"
    if trial.error is not None:
        is_unsupported = trial.error.kind == "unsupported"
        status = "unsupported" if is_unsupported else "failed"
    record: dict[str, Any] = {
        "i": row["i"],
        "n": row["n"],
        "s": trial.sample.id,
        "d": row["d"],
        "status": status,
    }
    if trial.error is not None:
        record["error"] = trial.error.to_json()
    if is_refused(trial):
        record["refused"] = True
    record["scores"] = {name: scores[name].to_json() for name in sorted(scores)}
    metadata = trial.sample.metadata
    if plan.labels:
        record["labels"] = {key: metadata.get(key) for key in plan.labels}
    if plan.cluster_key:
        cluster = metadata.get(plan.cluster_key)
        record["cluster"] = trial.sample.id if cluster is None else str(cluster)
    try:
        return sealed(to_line(record))
    except TypeError:
        for name, score in scores.items():
            record["scores"][name] = writable(score).to_json()
        return sealed(to_line(record))


def score_trials(
    trials: Sequence[Trial],
    plan: ScoringPlan,
    metrics: Sequence[BoundMetric],
    limit: TimeLimit = NO_LIMIT,
) -> list[dict[str, Score]]:
    """Returns the scores of a task's trials by its metrics that do not use a judge.

    A trial without an answer has no scores. An empty answer has the score that the
    benchmark defines for it, if any. Batched metrics score all trials at once.
    """
    all_scores: list[dict[str, Score]] = []
    to_score: list[Trial] = []
    open_scores: list[dict[str, Score]] = []
    for trial in trials:
        scores: dict[str, Score] = {}
        all_scores.append(scores)
        if trial.error is not None:
            continue
        for name, reason in plan.unavailable.items():
            scores[name] = Score.unavailable(reason)
        fixed = fixed_score(trial, plan)
        if fixed is None:
            to_score.append(trial)
            open_scores.append(scores)
            continue
        scores.update(dict.fromkeys(plan.judged_outputs, fixed))
        for bound in metrics:
            scores.update(dict.fromkeys(bound.metric.outputs, fixed))
    for bound in metrics:
        if bound.metric.batch:
            results = score_all(bound, to_score, limit)
        else:
            results = [_timed(bound, trial, limit) for trial in to_score]
        for scores, more in zip(open_scores, results, strict=True):
            scores.update(more)
    return all_scores


def fixed_score(trial: Trial, plan: ScoringPlan) -> Score | None:
    """Returns the score that a rule of the task sets for an answer.

    The result is None if metrics score the answer.
    """
    if plan.refusals == "unscored" and is_refused(trial):
        return Score.refused("the model refused", **BY_REFUSAL)
    is_empty = trial.output is not None and trial.output.empty
    if plan.missing_output is not None and is_empty:
        return Score(plan.missing_output, evidence=BY_MISSING_OUTPUT)
    return None


def _timed(
    bound: BoundMetric,
    trial: Trial,
    limit: TimeLimit,
) -> MetricScores:
    limit.begin()
    try:
        return score_one(bound, trial)
    # The alarm may come after the metric has ended, but before ``limit.end``.
    except TimeoutError as late:
        return failed(bound, late)
    finally:
        limit.end()
