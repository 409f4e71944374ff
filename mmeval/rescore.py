"""Scoring a run folder again: other metrics, switches or judges on the answers that it has; no model is asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mmeval.broker import Broker
from mmeval.build import build, check_metric_names
from mmeval.errors import EXIT_INCOMPLETE, UsageError
from mmeval.interrupt import interruptible
from mmeval.journal import Journal
from mmeval.judging import Judging
from mmeval.lines import to_line
from mmeval.mediastore import MediaStore
from mmeval.options import BackendSpec, RunCounts, RunOutcome
from mmeval.outcome import exit_code, finished_results, score_folders, unscored_complaints, worst_unscored
from mmeval.records import Sample
from mmeval.report.progress import Progress
from mmeval.roles import Backends, check_roles
from mmeval.run import say_unavailable
from mmeval.runfolder import RunFolder
from mmeval.scoring import Scorer, trial_line
from mmeval.storedtrials import stored_exchanges, stored_trial
from mmeval.summary import group_results
from mmeval.task import Group, GroupMetric, Selection, TaskOverrides
from mmeval.taskfile import TaskFile, parse_task
from mmeval.taskrun import TaskRun, scoring_plan, task_run
from mmeval.taskyaml import Document


@dataclass(frozen=True)
class RescoreOptions:
    """What ``mmeval score`` is asked to do. ``overrides`` may change switches, profile and skipped metrics."""

    folder: Path
    overrides: TaskOverrides = field(default_factory=TaskOverrides)
    roles: Mapping[str, BackendSpec] = field(default_factory=dict)
    score_workers: int = 1
    max_connections: int = 64
    retry_on_error: int = 5
    strict: bool = False
    max_unscored: float = 0.0


def rescore(options: RescoreOptions, *, progress: Progress) -> RunOutcome:
    """Score every trial of a run folder that its score sets do not cover yet.

    Raises UsageError for a folder that holds no run, Interrupted when the user stops it.
    """
    record = RunFolder.read_record(options.folder)
    if not record:
        raise UsageError(f"{options.folder}: holds no run (there is no run.json); name the folder that a run printed")
    selection = stored_selection(record, options.overrides, frozenset(options.roles))
    say_unavailable(selection.tasks, strict=options.strict)
    return _Rescoring(selection, options, record, progress).run()


def stored_selection(record: Mapping[str, Any], overrides: TaskOverrides, roles: frozenset[str]) -> Selection:
    """The tasks and groups of a run as they were when it was made, with other switches where these are given."""
    files = {name: _stored_file(name, config) for name, config in record["tasks"].items()}
    check_metric_names(files.values(), overrides)
    tasks = []
    for name, file in files.items():
        task = build(file, replace(overrides, data="", data_dir=None), roles=roles)
        tasks.append(replace(task, comparable=record["tasks"][name].get("data") != "bundled"))
    groups = []
    for group in record.get("groups", {}).values():
        metrics = tuple(GroupMetric(**metric) for metric in group["metrics"])
        groups.append(Group(**{**group, "members": tuple(group["members"]), "metrics": metrics}))
    return Selection(tuple(tasks), tuple(groups))


def _stored_file(name: str, config: Mapping[str, Any]) -> TaskFile:
    keys = {key: value for key, value in config.items() if key not in ("data", "system_instruction")}
    return parse_task(Document(Path(f"run.json#{name}"), keys))


class _Rescoring:
    def __init__(
        self, selection: Selection, options: RescoreOptions, record: Mapping[str, Any], progress: Progress
    ) -> None:
        self.stopping = False
        self.in_flight = 0
        self._selection, self._options, self._record, self._progress = selection, options, record, progress
        self._runs: list[TaskRun] = []
        self._stop_asking: Callable[[], None] = lambda: None
        self._trials = self._failed = self._unsupported = 0
        self._started = time.time()

    def stop(self) -> None:
        self.stopping = True
        self._stop_asking()

    def run(self) -> RunOutcome:
        options = self._options
        plans = [scoring_plan(task, options.folder / "media") for task in self._selection]
        with ExitStack() as stack:
            scorer = Scorer(plans, options.score_workers, lambda position, rows: self._runs[position].deliver(rows))
            stack.callback(scorer.close)
            scorer.start()
            folder = RunFolder(options.folder)
            stack.callback(folder.close)
            journal = Journal(folder.journal, MediaStore(folder.media))
            stack.callback(journal.close)
            backends = Backends(options.roles)
            check_roles(backends.named, self._selection.tasks)
            for task, plan in zip(self._selection, plans, strict=True):
                data = self._record.get("data", {}).get(task.name, {}).get("fingerprint", "")
                self._runs.append(task_run(options.folder, task, plan, backends.named, data=data))
                stack.callback(self._runs[-1].close)
            with asyncio.Runner() as runner:
                runner.run(self._all(scorer, journal, backends))
            return self._outcome(journal.since)

    async def _all(self, scorer: Scorer, journal: Journal, backends: Backends) -> None:
        options = self._options
        tags = self._record["identity"]["reasoning_tags"]
        broker = Broker(
            journal, seed=self._record["identity"]["seed"], reasoning_tags=None if tags is None else tuple(tags)
        )
        broker.roles = backends.runtimes(
            lambda: broker.live_trials, limit=options.max_connections, retries=options.retry_on_error
        )
        self._stop_asking = broker.stop
        judging = Judging(broker, 2 * options.max_connections)
        try:
            await interruptible(self, self._score(scorer, journal, judging), self._progress)
        finally:
            await broker.close()

    async def _score(self, scorer: Scorer, journal: Journal, judging: Judging) -> None:
        for position, run in enumerate(self._runs):
            for row, sample_row in run.records.trials():
                if self.stopping:
                    return
                await self._trial(position, run, row, sample_row, scorer=scorer, journal=journal, judging=judging)
        await judging.drain()
        await scorer.drain()

    async def _trial(
        self,
        position: int,
        run: TaskRun,
        row: Mapping[str, Any],
        sample_row: Mapping[str, Any],
        *,
        scorer: Scorer,
        journal: Journal,
        judging: Judging,
    ) -> None:
        assert run.scores is not None or not run.task.metrics
        trial = stored_trial(row, Sample.from_json(sample_row, journal.media.root), journal)
        self._trials += 1
        if trial.error is not None:
            self._unsupported += trial.error.kind == "unsupported"
            self._failed += trial.error.kind != "unsupported"
        if run.scores is None or run.scores.covers(row["i"], row["n"], row["d"]):
            return
        answered = list(stored_exchanges(row, journal))
        line = trial_line(
            to_line(sample_row),
            index=row["i"],
            repeat=row["n"],
            digest=row["d"],
            exchanges=[exchange for exchange, _ in answered],
            responses=[entry.line for _, entry in answered],
            output=trial.output,
            error=trial.error,
        )
        await scorer.add(position, line)
        await judging.add(run, row["i"], trial, row["d"])

    def _outcome(self, since: str) -> RunOutcome:
        everything: Callable[[int, int], bool] = lambda _index, _repeat: True  # noqa: E731
        wanted = [everything] * len(self._runs)
        results = finished_results(self._runs, wanted)
        counts = RunCounts(
            kept=self._trials - self._failed - self._unsupported,
            failed=self._failed,
            unsupported=self._unsupported,
            unscored=worst_unscored(results),
            since=since,
        )
        unfinished = []
        if not self._record.get("finished", True):
            made = f"{self._trials} trial{'s' if self._trials != 1 else ''}"
            unfinished = [f"the run is not finished: these are the {made} that it made; its own command makes the rest"]
        return RunOutcome(
            folder=self._options.folder,
            model_name=self._record["options"]["model_name"],
            selection=self._selection,
            results=tuple(results),
            group_results=tuple(group_results(self._selection.groups, results)),
            counts=counts,
            started=time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(self._started)),
            seconds=time.time() - self._started,
            exit_code=EXIT_INCOMPLETE if unfinished else exit_code(counts, self._options.max_unscored),
            rows={name: data["rows"] for name, data in self._record.get("data", {}).items()},
            score_sets=score_folders(self._runs),
            complaints=(*unfinished, *unscored_complaints(self._runs, wanted, results, self._options.folder)),
        )
