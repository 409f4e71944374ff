"""Export the answers of a run in a format, completely or not at all."""

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
    """The trials of one task, with a count of those whose record cannot be read."""

    def __init__(self, run: StoredRun, name: str) -> None:
        self._run = run
        self._name = name
        self.damaged = 0

    def __call__(self) -> Iterator[Trial]:
        return (one.trial for one in self._read(None))

    def scored(self) -> Iterator[ScoredTrial]:
        score_sets = {task.name: task.score_set for task in self._run.tasks}
        return self._read(score_sets.get(self._name))

    def _read(self, score_set: Path | None) -> Iterator[ScoredTrial]:
        self.damaged = 0
        task = StoredTask(self._name, {}, self._run.folder, score_set)
        for found in task.trials():
            try:
                if found is None:
                    raise ValueError
                sample = Sample.from_json(found.sample, self._run.journal.media.root)
                trial = stored_trial(found.row, sample, self._run.journal)
                own = {} if found.scores is None else found.scores["scores"]
                scores = {name: Score.from_json(score) for name, score in own.items()}
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
    """Write the answers of some tasks of a run (default: all) as the folder ``into``.

    An earlier export is replaced only with ``force``, when the new one is complete;
    another folder is never replaced. Raises UsageError for a run or folder that cannot
    be used, StorageError.
    """
    assert form.write is not None
    is_empty_folder = into.is_dir() and not any(into.iterdir())
    if into.exists() and not is_empty_folder:
        if not (into / MANIFEST).is_file():
            raise UsageError(
                f"{into} exists and was not written by mmeval export; move it away, or "
                "name another --output_path"
            )
        if not force:
            raise UsageError(
                f"{into} is there already; --force replaces it, --output_path FOLDER "
                "writes elsewhere"
            )
    trials: dict[str, _Trials] = {}
    answered: list[AnsweredTask] = []
    for name in _chosen(run, tasks):
        read = trials[name] = _Trials(run, name)
        answered.append(AnsweredTask(name, read, read.scored))
    try:
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
            "name another --output_path"
        ) from None
    return replace(done, gaps=(*done.gaps, *_gaps(run, trials)))


def _chosen(run: StoredRun, tasks: Sequence[str]) -> list[str]:
    known = run.record.get("tasks", {})
    groups = run.record.get("groups", {})
    members = {name: group["members"] for name, group in groups.items()}
    wanted: set[str] = set()
    for name in tasks:
        if name not in known and name not in members:
            hint = f"It has: {', '.join(known)}."
            raise UnknownNameError("task of this run", name, [*known, *members], hint)
        wanted.update(tasks_inside(name, members))
    if not known:
        raise UsageError(f"{run.folder} has no task yet")
    return [name for name in known if not tasks or name in wanted]


def _gaps(run: StoredRun, trials: dict[str, _Trials]) -> Iterator[str]:
    damaged = sum(read.damaged for read in trials.values())
    if damaged:
        yield f"trials with a damaged record, not exported: {damaged:,}"
    yield from journal_notes(run)
    data = run.record.get("data", {})
    for name in trials:
        if data.get(name, {}).get("subset") is not None:
            yield (
                f"{name}: the run asked a part of its samples; the others have no "
                "answer"
            )
    if not run.record.get("finished", True):
        yield "the run is unfinished: trials that are not made yet are missing"
