"""What a run answered, as digests: whether two runs gave the same answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mmeval.records.digests import digest
from mmeval.report.page.details import exchanges, output_of
from mmeval.results.stored_run import StoredRun, StoredTask, TaskRow


def answers_of(run: StoredRun, task: StoredTask) -> Mapping[tuple[str, int], str]:
    """The digest of each answer, by sample and repeat; trials without one are left
    out."""
    found = {}
    for trial in task.trials():
        if trial is None:
            continue
        output = output_of(trial, exchanges(trial, run.journal))
        if output is not None:
            found[str(trial.sample["id"]), trial.repeat] = answer_digest(output)
    return found


def answer_digest(parts: Sequence[TaskRow]) -> str:
    """Equal for equal parts in the same order: their kinds, words and the digests of
    their media. Hidden reasoning is left out: nothing that scores has seen it."""
    known = []
    for part in parts:
        if part["type"] != "reasoning":
            media = part.get("media") or {}
            known.append((part["type"], part.get("text"), media.get("sha256")))
    return digest(known)
