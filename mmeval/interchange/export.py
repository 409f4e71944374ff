"""Exports the answers of a run in a format, completely or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mmeval._version import __version__
from mmeval.errors import StorageError, UnknownNameError, UsageError
from mmeval.interchange.contract import (
    MANIFEST,
    AnsweredRun,
    AnsweredTask,
    AnswerFormat,
    ExportSummary,
    ScoredTrial,
)
from mmeval.metric.scoring.stored_trials import stored_trial
from mmeval.records.sample import Sample
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.results.groups import tasks_inside
from mmeval.results.stored_run import StoredRun, StoredTask, journal_notes
from mmeval.system.folders import replaced


class _Trials:
    """The trials of one task. ``damaged`` is the number of unreadable records."""

    def __init__(self, run: StoredRun, name: str) -> None:
        self._run = run
        self._name = name
        self.damaged = 0

    def __call__(self) -> Iterator[Trial]:
        return (row.trial for row in self._read(None))

    def scored(self) -> Iterator[ScoredTrial]:
        score_sets = {task.name: task.score_set for task in self._run.tasks}
        return self._read(score_sets.get(self._name))

    def _read(self, score_set: Path | None) -> Iterator[ScoredTrial]:
        self.damaged = 0
        task = StoredTask(self._name, {}, self._run.folder, score_set)
        for stored in task.trials():
            try:
                if stored is None:
                    raise ValueError
                sample = Sample.from_json(stored.sample, self._run.journal.media.root)
                trial = stored_trial(stored.row, sample, self._run.journal)
                score_rows = {} if stored.scores is None else stored.scores["scores"]
                scores = {
                    name: Score.from_json(score) for name, score in score_rows.items()
                }
            except (ValueError, KeyError, TypeError, AttributeError):
                self.damaged += 1
            else:
                yield ScoredTrial(trial, scores)


def export(
    run: StoredRun,
    form: AnswerFormat,
    into: Path,
    *,
    tasks: Sequence[str] = (),
    force: bool,
) -> ExportSummary:
    """Writes the answers of ``tasks`` (default: all tasks of the run) to ``into``.

    With ``force``, an earlier export in this folder is replaced when the new export is
    complete. A folder that is not an export is never replaced. Raises UsageError for a
    run or folder that cannot be used, and StorageError if files cannot be written.
    """
    assert form.write is not None
    is_empty_folder = into.is_dir() and not any(into.iterdir())
    if into.exists() and not is_empty_folder:
        if not (into / MANIFEST).is_file():
            raise UsageError(
                f"{into} exists and was not written by mmeval export; move it away, or "
                "choose another --output_path"
            )
        if not force:
            raise UsageError(
                f"{into} exists already; --force replaces it, --output_path FOLDER "
                "writes elsewhere"
            )
    trials: dict[str, _Trials] = {}
    answered: list[AnsweredTask] = []
    for name in _chosen(run, tasks):
        read = trials[name] = _Trials(run, name)
        answered.append(AnsweredTask(name, read, read.scored))
    try:
        # resolved, so that a link to a folder stays a link
        with replaced(into.resolve()) as new:
            done = form.write(AnsweredRun(run.model, tuple(answered)), new)
            manifest = {
                "mmeval": __version__,
                "model": run.model,
                "run": run.folder.name,
                "tasks": list(trials),
                **done.manifest,
            }
            (new / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    except OSError as error:
        raise StorageError(
            f"{into}: cannot be written ({error.strerror or error}); free space, or "
            "choose another --output_path"
        ) from None
    return replace(done, gaps=(*done.gaps, *_gaps(run, trials)))


def _chosen(run: StoredRun, tasks: Sequence[str]) -> list[str]:
    recorded = run.record.get("tasks", {})
    groups = run.record.get("groups", {})
    members = {name: group["members"] for name, group in groups.items()}
    requested: set[str] = set()
    for name in tasks:
        if name not in recorded and name not in members:
            hint = f"Its tasks: {', '.join(recorded)}."
            raise UnknownNameError(
                "task of this run", name, [*recorded, *members], hint
            )
        requested.update(tasks_inside(name, members))
    if not recorded:
        raise UsageError(f"{run.folder} has no tasks yet")
    return [name for name in recorded if not tasks or name in requested]


def _gaps(run: StoredRun, trials: dict[str, _Trials]) -> Iterator[str]:
    damaged = sum(read.damaged for read in trials.values())
    if damaged:
        yield f"trials not exported, because their record is damaged: {damaged:,}"
    yield from journal_notes(run)
    data = run.record.get("data", {})
    for name in trials:
        if data.get(name, {}).get("subset") is not None:
            yield (
                f"{name}: the run included only a part of the samples; the others have "
                "no answer"
            )
    if not run.record.get("finished", True):
        yield "the run is unfinished: its remaining trials are missing"
