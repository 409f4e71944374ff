"""The samples file: JSON lines of lm-evaluation-harness with ordered parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from mmeval.metric.scoring.stored_trials import stored_trial
from mmeval.records.digests import canonical_json
from mmeval.records.request import GenerationParams
from mmeval.records.sample import Message, Sample
from mmeval.records.score import Score, ScoreStatus
from mmeval.records.trial import Trial, finish_reason, warnings_of
from mmeval.results.stored_run import ScoreRows
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.paths import Wanted, trial_key
from mmeval.store.task_records import trial_rows
from mmeval.system.folders import replaced_file
from mmeval.task.task import Task


@dataclass(frozen=True)
class SampleRow:
    """A sample, its trials in the order of repeats, and each trial's scores by
    output."""

    index: int
    sample: Sample
    prompt: tuple[Message, ...]
    params: GenerationParams
    trials: Sequence[Trial]
    scores: Sequence[Mapping[str, Score]]


def write_samples(file: Path, rows: Iterable[SampleRow]) -> str:
    """Write the file line by line; nothing but the present row is held.

    Returns the task's hash: over the hashes of documents, prompts and targets. Raises
    StorageError.
    """
    whole = hashlib.sha256()
    with replaced_file(file) as new, new.open("wb") as out:
        for row in rows:
            line = sample_line(row)
            whole.update(
                (line["doc_hash"] + line["prompt_hash"] + line["target_hash"]).encode()
            )
            out.write(
                json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace")
                + b"\n"
            )
    return whole.hexdigest()


def sample_line(row: SampleRow) -> dict[str, Any]:
    """A samples file's line; a metric's key is the mean of scored repeats, or null.

    ``inapplicable``, ``left_out``, ``trace``, ``warnings`` and ``finish_reason``, by
    repeat, stand where one is not empty, or no plain stop.
    """
    document = row.sample.to_json()
    prompt = "\n".join(
        f"{message.role}: {message.content.rendered()}" for message in row.prompt
    )
    target = row.sample.references[0].rendered() if row.sample.references else ""
    # A placeholder stands for everything that is not text; where there is no answer,
    # `error` says why.
    texts = [
        "" if trial.output is None else trial.output.rendered() for trial in row.trials
    ]
    names = list(dict.fromkeys(name for scores in row.scores for name in scores))
    own = {
        name: _mean([scores[name] for scores in row.scores if name in scores])
        for name in names
    }
    inapplicable = [_reasons(scores, "inapplicable") for scores in row.scores]
    left_out = [list(trial.left_out) for trial in row.trials]
    warnings = [warnings_of(trial.exchanges) for trial in row.trials]
    ends = [finish_reason(trial) for trial in row.trials]
    traces = [_trace(trial) for trial in row.trials]
    line: dict[str, Any] = {
        "doc_id": row.index,
        "doc": document,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": row.params.to_json()}},
        "resps": [texts],
        "filtered_resps": texts[:1],
        "filter": "none",
        "metrics": names,
        "doc_hash": hashlib.sha256(canonical_json(document)).hexdigest(),
        "prompt_hash": _sha(prompt),
        "target_hash": _sha(target),
        "parts": [
            None if trial.output is None else trial.output.to_json()
            for trial in row.trials
        ],
        "error": [
            None if trial.error is None else trial.error.to_json()
            for trial in row.trials
        ],
        "unscored": [
            _reasons(scores, "unscored", "unavailable") for scores in row.scores
        ],
        **({"inapplicable": inapplicable} if any(inapplicable) else {}),
        **({"left_out": left_out} if any(left_out) else {}),
        "scores": [
            {name: score.to_json() for name, score in scores.items()}
            for scores in row.scores
        ],
        "usage": [_usage(trial) for trial in row.trials],
        "judge": [_judges(trial) for trial in row.trials],
        **({"trace": traces} if any(traces) else {}),
        **({"warnings": warnings} if any(warnings) else {}),
        **(
            {"finish_reason": ends}
            if any(end not in ("stop", None) for end in ends)
            else {}
        ),
    }
    # a metric that is named like a fixed key must not hide it; `scores` has it too
    return {**own, **line}


def _mean(scores: Sequence[Score]) -> float | None:
    values = [
        score.value
        for score in scores
        if score.status == "scored" and score.value is not None
    ]
    return sum(values) / len(values) if values else None


def _reasons(scores: Mapping[str, Score], *statuses: ScoreStatus) -> dict[str, str]:
    return {
        name: score.reason for name, score in scores.items() if score.status in statuses
    }


def _usage(trial: Trial) -> dict[str, int]:
    """Tokens of all exchanges of a trial, as the servers counted them."""
    return {
        "input_tokens": sum(
            exchange.response.usage.input_tokens for exchange in trial.exchanges
        ),
        "output_tokens": sum(
            exchange.response.usage.output_tokens for exchange in trial.exchanges
        ),
    }


def _trace(trial: Trial) -> list[dict[str, Any]]:
    """How agents came to the replies of a trial's calls, each with the path of its
    call."""
    answered = (
        (exchange.path, exchange.response.trace) for exchange in trial.exchanges
    )
    return [
        {"path": path, **trace.to_json()}
        for path, trace in answered
        if trace is not None
    ]


def _judges(trial: Trial) -> list[str]:
    """Who served the roles other than the model under test, once each."""
    served = (
        f"{e.role}={e.response.served}"
        for e in trial.exchanges
        if e.role != "model" and e.response.served
    )
    return list(dict.fromkeys(served))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sample_rows(
    folder: Path, task: Task, score_set: Path | None, wanted: Wanted
) -> Iterator[SampleRow]:
    """A task's samples with their trials and scores, in the order of the data set.
    ``score_set`` is the folder of the task's scores, None when nothing was scored."""
    scores = ScoreRows(score_set)
    with closing(
        Journal(folder / "journal", MediaStore(folder / "media"), writable=False)
    ) as journal:
        chosen = (
            rows
            for rows in trial_rows(folder, task.name)
            if wanted(rows.trial["i"], rows.trial["n"])
        )
        for index, of_sample in groupby(chosen, key=lambda rows: int(rows.trial["i"])):
            trials: list[Trial] = []
            found: list[Mapping[str, Score]] = []
            for row, sample_row, _ in of_sample:
                sample = (
                    trials[0].sample
                    if trials
                    else Sample.from_json(sample_row["sample"], journal.media.root)
                )
                trials.append(stored_trial(row, sample, journal))
                scored, _ = scores.of(trial_key(index, row["n"]), row["d"])
                own = {} if scored is None else scored["scores"]
                found.append(
                    {name: Score.from_json(score) for name, score in own.items()}
                )
            sample = trials[0].sample
            bad = trials[0].error is not None and trials[0].error.kind == "bad_sample"
            # nothing was asked, and perhaps nothing can be
            prompt = () if bad else task.prompt(sample)
            yield SampleRow(index, sample, prompt, task.params, trials, found)
