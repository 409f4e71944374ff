"""Computes digests of a run's answers, to find equal answers in two runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mmeval.records.digests import digest
from mmeval.report.page.details import exchanges, output_of
from mmeval.results.stored_run import StoredRun, StoredTask, TaskRow


def answers_of(run: StoredRun, task: StoredTask) -> Mapping[tuple[str, int], str]:
    """Returns the digest of each answer, by sample and repeat. Trials without an answer
    are left out."""
    digests = {}
    for trial in task.trials():
        if trial is None:
            continue
        output = output_of(trial, exchanges(trial, run.journal))
        if output is not None:
            digests[str(trial.sample["id"]), trial.repeat] = answer_digest(output)
    return digests


def answer_digest(parts: Sequence[TaskRow]) -> str:
    """Returns a digest of the parts in order: their types, texts and media. Hidden
    reasoning is left out, as it is not scored."""
    contents = []
    for part in parts:
        if part["type"] != "reasoning":
            media = part.get("media") or {}
            contents.append((part["type"], part.get("text"), media.get("sha256")))
    return digest(contents)
