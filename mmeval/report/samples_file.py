"""Writes the samples file: JSON lines as in lm-evaluation-harness, with ordered
parts."""

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
from mmeval.store.paths import TrialFilter, trial_key
from mmeval.store.task_records import trial_rows
from mmeval.system.folders import replaced_file
from mmeval.task.task import Task


@dataclass(frozen=True)
class SampleRow:
    """A sample, its trials in the order of repeats, and the scores of each trial by
    metric output."""

    index: int
    sample: Sample
    prompt: tuple[Message, ...]
    params: GenerationParams
    trials: Sequence[Trial]
    scores: Sequence[Mapping[str, Score]]
    released: str = ""
    """The ids of the released texts in the prompt, which replace it in the file."""


def write_samples(file: Path, rows: Iterable[SampleRow]) -> str:
    """Write the file line by line. Only the current row is in memory.

    Returns the task's hash, which covers the hashes of documents, prompts and targets.
    Raises StorageError if the file cannot be written.
    """
    whole = hashlib.sha256()
    with replaced_file(file) as new, new.open("wb") as out:
        for row in rows:
            line = sample_line(row)
            hashes = line["doc_hash"] + line["prompt_hash"] + line["target_hash"]
            whole.update(hashes.encode())
            text = json.dumps(line, ensure_ascii=False)
            out.write(text.encode("utf-8", "backslashreplace") + b"\n")
    return whole.hexdigest()


def sample_line(row: SampleRow) -> dict[str, Any]:
    """Returns a line of the samples file. A metric's key contains the mean of scored
    repeats, or null.

    The lists ``inapplicable``, ``left_out``, ``trace``, ``warnings`` and
    ``finish_reason`` contain one item for each repeat. A list is left out if all its
    items are empty or ``stop``.
    """
    document = row.sample.to_json()
    messages = []
    for message in row.prompt:
        messages.append(f"{message.role}: {message.content.rendered()}")
    prompt = "\n".join(messages)
    # without a licence, a released text may not be in a file that is shared
    shown_prompt = f"released prompt: {row.released}" if row.released else prompt
    target = row.sample.references[0].rendered() if row.sample.references else ""

    # Placeholders replace everything that is not text. Without an answer, `error` has
    # the reason.
    texts, parts, errors, usage = [], [], [], []
    for trial in row.trials:
        texts.append("" if trial.output is None else trial.output.rendered())
        parts.append(None if trial.output is None else trial.output.to_json())
        errors.append(None if trial.error is None else trial.error.to_json())
        # of all exchanges, as the servers count them
        usages = [exchange.response.usage for exchange in trial.exchanges]
        tokens_in = sum(tokens.input_tokens for tokens in usages)
        tokens_out = sum(tokens.output_tokens for tokens in usages)
        usage.append({"input_tokens": tokens_in, "output_tokens": tokens_out})

    values: dict[str, list[float]] = {}
    unscored, inapplicable, scores = [], [], []
    for trial_scores in row.scores:
        unscored.append(_reasons(trial_scores, "unscored", "unavailable"))
        inapplicable.append(_reasons(trial_scores, "inapplicable"))
        scores.append({name: score.to_json() for name, score in trial_scores.items()})
        for name, score in trial_scores.items():
            known = values.setdefault(name, [])
            if score.status == "scored" and score.value is not None:
                known.append(score.value)
    line: dict[str, Any] = {}
    for name, known in values.items():
        line[name] = sum(known) / len(known) if known else None
    # fixed keys override a metric of the same name, which is in `scores` too
    line |= {
        "doc_id": row.index,
        "doc": document,
        "target": target,
        "arguments": {
            "gen_args_0": {"arg_0": shown_prompt, "arg_1": row.params.to_json()}
        },
        "resps": [texts],
        "filtered_resps": texts[:1],
        "filter": "none",
        "metrics": list(values),
        "doc_hash": hashlib.sha256(canonical_json(document)).hexdigest(),
        "prompt_hash": _sha(prompt),
        "target_hash": _sha(target),
        "parts": parts,
        "error": errors,
        "unscored": unscored,
    }
    if any(inapplicable):
        line["inapplicable"] = inapplicable
    left_out = [list(trial.left_out) for trial in row.trials]
    if any(left_out):
        line["left_out"] = left_out
    line |= {"scores": scores, "usage": usage}
    return line | _exchanged(row.trials)


def _exchanged(trials: Sequence[Trial]) -> dict[str, Any]:
    """Returns for each trial the models of the other roles, the traces of agents with
    the paths of their calls, warnings, and finish reasons."""
    judges, traces, warnings = [], [], []
    for trial in trials:
        served: dict[str, None] = {}
        traced = []
        for exchange in trial.exchanges:
            response = exchange.response
            if exchange.role != "model" and response.served:
                served[f"{exchange.role}={response.served}"] = None
            if response.trace is not None:
                traced.append({"path": exchange.path, **response.trace.to_json()})
        judges.append(list(served))
        traces.append(traced)
        warnings.append(warnings_of(trial.exchanges))
    columns: dict[str, Any] = {"judge": judges}
    if any(traces):
        columns["trace"] = traces
    if any(warnings):
        columns["warnings"] = warnings
    ends = [finish_reason(trial) for trial in trials]
    if not {"stop", None}.issuperset(ends):
        columns["finish_reason"] = ends
    return columns


def _reasons(scores: Mapping[str, Score], *statuses: ScoreStatus) -> dict[str, str]:
    matching = {
        name: score for name, score in scores.items() if score.status in statuses
    }
    return {name: score.reason for name, score in matching.items()}


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sample_rows(
    folder: Path, task: Task, score_set: Path | None, is_requested: TrialFilter
) -> Iterator[SampleRow]:
    """Yields a task's samples with their trials and scores, in the order of the data
    set. ``score_set`` is the folder of the task's scores, or None if nothing was
    scored."""
    scores = ScoreRows(score_set)
    released = str(task.config.get("task_prompt", {}).get("released", ""))
    media = MediaStore(folder / "media")
    with closing(Journal(folder / "journal", media, writable=False)) as journal:
        every = trial_rows(folder, task.name)
        chosen = (
            rows for rows in every if is_requested(rows.trial["i"], rows.trial["n"])
        )
        by_sample = groupby(chosen, key=lambda rows: int(rows.trial["i"]))
        for index, of_sample in by_sample:
            sample: Sample | None = None
            trials: list[Trial] = []
            scores_by_trial: list[Mapping[str, Score]] = []
            for row, sample_row, _ in of_sample:
                if sample is None:
                    sample = Sample.from_json(sample_row["sample"], media.root)
                trials.append(stored_trial(row, sample, journal))
                scored, _ = scores.of(trial_key(index, row["n"]), row["d"])
                stored = {} if scored is None else scored["scores"]
                by_name = {name: Score.from_json(row) for name, row in stored.items()}
                scores_by_trial.append(by_name)
            assert sample is not None
            error = trials[0].error
            is_bad = error is not None and error.kind == "bad_sample"
            # an invalid sample was not asked, and its prompt may be impossible to build
            prompt = () if is_bad else task.prompt(sample)
            yield SampleRow(
                index,
                sample,
                prompt,
                task.params,
                trials,
                scores_by_trial,
                released=released,
            )
