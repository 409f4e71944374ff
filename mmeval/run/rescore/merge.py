"""Merges the shards of a run: joins their folders and computes the results.

No call is sent and no backend is created, so a merge needs neither the model nor the
key of a judge.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmeval.backend.batch_size import AUTO
from mmeval.broker.broker import Broker
from mmeval.dataset.sampling import Subset
from mmeval.errors import UsageError
from mmeval.findings.finding import Finding, Subject
from mmeval.metric.scoring.score_set import ScoreSet
from mmeval.metric.scoring.stored_trials import stored_exchanges
from mmeval.metric.scoring.trial_rows import ScoringPlan
from mmeval.records.response import ErrorInfo
from mmeval.results.stored_run import newest_results
from mmeval.run.backends import Backends
from mmeval.run.costs.prices import Prices
from mmeval.run.interrupt import Stoppable
from mmeval.run.jobs import ChosenTrials
from mmeval.run.losses import lost_answers, unasked_findings
from mmeval.run.options import RunCounts, RunOptions, RunOutcome, UnfinishedTask
from mmeval.run.progress import Progress, RunTally
from mmeval.run.rescore.division import (
    Division,
    StoredShard,
    check_same_run,
    division_of,
    stored_shards,
)
from mmeval.run.rescore.join import join
from mmeval.run.rescore.selection import stored_selection
from mmeval.run.rescore.shard_check import check_shards
from mmeval.run.runner import Runner
from mmeval.run.source import Conclusion, OpenRun, TrialSource
from mmeval.run.suspension import Suspension, score_command
from mmeval.run.task_run import TaskRun, judged_metrics
from mmeval.store.journal import Journal
from mmeval.store.paths import TrialFilter, every_trial, trial_key
from mmeval.store.run_folder import RunFolder
from mmeval.store.shard import MERGED, from_progressions, shards_of, state, unmerged
from mmeval.store.task_records import TaskRecords, trial_rows
from mmeval.system.json_lines import read_rows
from mmeval.system.wording import listed
from mmeval.task.task import Task, TaskOverrides


@dataclass(frozen=True, slots=True)
class AvailableTrials:
    """The chosen trials of one task, without lost trials."""

    chosen: ChosenTrials
    lost: frozenset[int]

    def __call__(self, index: int, repeat: int) -> bool:
        is_lost = trial_key(index, repeat) in self.lost
        return self.chosen(index, repeat) and not is_lost


@dataclass(frozen=True)
class MergeResult:
    """The outcome of a merge, and the states of the merged shards.

    ``has_lost`` is True if recorded trials of the shards are missing.
    """

    outcome: RunOutcome
    states: Mapping[str, str]
    has_lost: bool

    def note(self) -> None:
        """Records the merge in the run folder, after its results are written.

        The same merge is then skipped next time.
        """
        with closing(RunFolder(self.outcome.folder)) as folder:
            folder.note(
                **{
                    MERGED: {
                        "shards": dict(self.states),
                        "exit_code": self.outcome.exit_code,
                        "has_lost": self.has_lost,
                    }
                }
            )


def is_merged(run: Path) -> bool:
    """Returns True if the run contains the content and results of all its shards."""
    record = RunFolder.read_record(run)
    merged = record.get(MERGED)
    if not merged or merged.get("has_lost"):
        # the state of a shard does not cover media, which may be complete by now
        return False
    return not any(unmerged(run, record)) and newest_results(run, record) is not None


def check_at_rest(run: Path) -> None:
    """Raises RunLockedError if a process is using a shard."""
    for path in shards_of(run).values():
        RunFolder(path).close()


def merge(
    run: Path, options: RunOptions, *, progress: Progress, partial: bool
) -> MergeResult:
    """Merges the shards of a run and computes its results.

    Raises RunLockedError if a process is using a shard, UsageError for missing shards
    or trials unless ``partial``, and IdentityChangedError if shards do not match.
    """
    with ExitStack() as locked:
        for path in shards_of(run).values():
            locked.enter_context(closing(RunFolder(path)))
        shards = stored_shards(run)
        division = division_of(run, shards, partial=partial)
        check_same_run(run, shards, division)
        selection = stored_selection(
            division.shards[-1].record, TaskOverrides(), frozenset(options.roles)
        )
        with closing(RunFolder(run)):
            check = check_shards(run, shards, division, selection.tasks)
            if check.problems and not partial:
                raise UsageError(
                    f"{run}: {listed(check.problems, 3)}. Copy these shards or run "
                    "their commands again, or give --partial to leave them out"
                )
            join(run, [shard.path for shard in shards], check.rebuilt_rows)
        division = division._replace(problems=(*division.problems, *check.problems))
        states = {
            shard.folder_name: state(path) for shard, path in shards_of(run).items()
        }
        selection = replace(
            selection, tasks=tuple(_as_scored(task, division) for task in selection)
        )
        source = ShardTrials(
            run, options, shards=shards, division=division, lost=check.lost
        )
        runner = Runner(
            run,
            division.shards[-1].record["options"]["model_name"],
            selection,
            options,
            progress,
            scoring=source.is_scored,
        )
        outcome = runner.run(lambda _media: source)
    return MergeResult(outcome, states, has_lost=bool(check.problems))


def _as_scored(task: Task, division: Division) -> Task:
    """Marks metrics of a task as unavailable if they were unavailable to the shards."""
    entries = division.definition(task.name).get("metrics", ())
    if [entry["metric"] for entry in entries] != [
        metric.bound.name for metric in task.metrics
    ]:
        return task
    metrics = zip(task.metrics, entries, strict=True)
    return replace(
        task,
        metrics=tuple(
            replace(metric, lacks=tuple(map(Finding.from_json, entry.get("lacks", ()))))
            for metric, entry in metrics
        ),
    )


class ShardTrials(TrialSource):
    """The source of trials that shards have made and scored. No call is sent."""

    makes_trials = False
    most_trials = None
    batch_size = AUTO
    others = ()

    def __init__(
        self,
        run: Path,
        options: RunOptions,
        *,
        shards: Sequence[StoredShard],
        division: Division,
        lost: Mapping[str, frozenset[int]],
    ) -> None:
        self.backends = Backends({})
        self.roles = dict(options.roles)
        self.data = division.shards[-1].record["data"]
        self._path = run
        self._options = options
        self._shards = shards
        self._division = division
        self._lost = lost
        self._run_notes: Mapping[str, Any] = {}
        """The notes of the last shard about the whole run."""
        for shard in division.shards:
            self._run_notes = shard.run_notes or self._run_notes

    @property
    def is_scored(self) -> bool:
        has_scores = bool(self._run_notes.get("score_sets"))
        return has_scores or not self._options.predict_only

    def key(self, prices: Prices) -> str:  # noqa: ARG002
        return ""  # a merge joins the files of the shards first

    def reuse(self, counts: RunCounts) -> None: ...

    def claim(self) -> RunFolder:
        return RunFolder(self._path)

    def open(self, folder: RunFolder, journal: Journal) -> Broker:
        sessions = list(folder.record.get("sessions", []))
        for shard in self._shards:
            for session in shard.record["sessions"]:
                if session not in sessions:
                    sessions.append(session)
        folder.note(
            sessions=sorted(sessions, key=lambda session: str(session["started"]))
        )
        record = self._division.shards[-1].record
        options = {**record["options"]}
        options.pop("shard", None)
        folder.describe(
            identity=record["identity"],
            provenance=record["sessions"][-1]["provenance"],
            tasks=record["tasks"],
            groups=record["groups"],
            data=record["data"],
            options=options,
            left_out=record.get("left_out"),
            settings=self._options.settings,
            command=self._options.command,
        )
        return Broker(journal)

    def task_run(self, task: Task, plan: ScoringPlan) -> TaskRun:
        definition = self._division.definition(task.name)
        scores = None
        if definition and self.is_scored:
            scores = ScoreSet(self._path, task.name, definition)
        records = TaskRecords(self._path, task.name)
        return TaskRun(task, plan, records, scores, judged_metrics(task))

    def begin(self, run: OpenRun) -> ShardTrialsRun:
        chosen = self._chosen([task.task for task in run.tasks])
        return ShardTrialsRun(
            run,
            self._options,
            self._division,
            data=self.data,
            run_notes=self._run_notes,
            chosen=chosen,
        )

    def _chosen(self, tasks: Sequence[Task]) -> dict[str, TrialFilter]:
        chosen_places = self._run_notes.get("chosen")
        chosen: dict[str, TrialFilter] = {}
        for task in tasks:
            if chosen_places is None:
                chosen[task.name] = every_trial
                continue
            taken = from_progressions(chosen_places.get(task.name, []))
            lost = self._lost.get(task.name, frozenset())
            chosen[task.name] = AvailableTrials(ChosenTrials(task.repeats, taken), lost)
        return chosen


class ShardTrialsRun:
    """Counts the trials of shards. There is nothing to stop."""

    in_flight = 0

    def __init__(
        self,
        run: OpenRun,
        options: RunOptions,
        division: Division,
        *,
        data: Mapping[str, Mapping[str, Any]],
        run_notes: Mapping[str, Any],
        chosen: Mapping[str, TrialFilter],
    ) -> None:
        self.tally = RunTally()
        self.suspension = Suspension()
        self._run = run
        self._options = options
        self._division = division
        self._run_notes = run_notes
        self._chosen = chosen
        self._samples: dict[str, int] = {}
        self._trials: dict[str, int] = {}
        self._expected_trials = {
            task.task.name: data[task.task.name].get("trials") for task in run.tasks
        }
        """The number of trials of the whole run, by task; None if unknown."""
        self._without_row: dict[str, int] = {}
        """The number of answers without a score row, by task.

        An incomplete copy of a shard may lack such rows.
        """

    @property
    def work(self) -> Stoppable:
        return self

    def stop(self) -> None:
        """Does nothing, since there is nothing to stop."""

    async def leave(self) -> None:
        """Does nothing, since no call is in flight."""

    async def run(self) -> None:
        for task in self._run.tasks:
            trial_filter = self._chosen[task.task.name]
            self._count(task, trial_filter)
            self._note_remarks(task, trial_filter)
        shards = sorted(shard.shard for shard in self._division.shards)
        named = listed([str(shard) for shard in shards], 3)
        self._run.progress.note(f"{self._trial_count()} trials of shards {named}")

    def _count(self, task: TaskRun, trial_filter: TrialFilter) -> None:
        name = task.task.name
        latest = {}
        for _, row in read_rows(task.records.trial_file):
            if trial_filter(row["i"], row["n"]):
                key = trial_key(row["i"], row["n"])
                latest[key] = (row.get("error"), row.get("left_out", ()))
        self._samples[name] = len({key >> 16 for key in latest})
        self._trials[name] = len(latest)
        if self._run.scorer is not None and task.task.metrics:
            answered = {key for key, (error, _) in latest.items() if error is None}
            scored = set() if task.scores is None else task.scores.trials()
            if without_row := len(answered - scored):
                self._without_row[name] = without_row
        for key in sorted(latest):
            error, left_out = latest[key]
            failure = None if error is None else ErrorInfo.from_json(error)
            self.tally.recall(failure, left_out)

    def _note_remarks(self, task: TaskRun, trial_filter: TrialFilter) -> None:
        journal = self._run.broker.journal
        rows = trial_rows(
            self._run.folder.path, task.task.name, trial_filter=trial_filter
        )
        for row in rows:
            if "error" not in row.trial:
                exchanges = stored_exchanges(row.trial, journal)
                self.tally.answer_notes.add([exchange for exchange, _ in exchanges])

    def _trial_count(self) -> str:
        """Returns ``3,000``, or ``3,000 of 4,000`` if trials are missing."""
        merged = sum(self._trials.values())
        expected = [
            count for count in self._expected_trials.values() if count is not None
        ]
        if len(expected) < len(self._expected_trials) or merged >= sum(expected):
            return f"{merged:,}"
        return f"{merged:,} of {sum(expected):,}"

    def so_far(self) -> str:
        return f"{self._trial_count()} trials are merged"

    def conclude(self) -> Conclusion:
        folder, problems = self._run.folder, self._division.problems
        folder.note(finished=not problems)
        subsets = {}
        for name, subset in self._run_notes.get("subsets", {}).items():
            how = tuple(subset["how"])
            subsets[name] = Subset(subset["of"], self._samples[name], how)
        unfinished = {}
        for name, made in self._trials.items():
            if problems and made != self._expected_trials[name]:
                unfinished[name] = UnfinishedTask(made, self._expected_trials[name])
        losses = [_missing_shard(words) for words in problems]
        losses.extend(lost_answers(self.tally, ""))
        for name, count in self._without_row.items():
            losses.append(_without_row(name, count, folder.path))
        losses.extend(unasked_findings(self.tally))
        roles = self._options.roles
        tasks = [task.task for task in self._run.tasks]
        return Conclusion(
            chosen=self._chosen,
            again=score_command(folder.path, tasks, roles, roles),
            losses=tuple(losses),
            answer_notes=tuple(self.tally.answer_notes.findings()),
            subsets=subsets,
            unfinished=unfinished,
            metric_device=self._run_notes.get("metric_device", ""),
        )


def _missing_shard(words: str) -> Finding:
    """Returns a finding for a missing part of the division."""
    return Finding(
        "subset",
        cause=f"{words}; run these shards, then merge again",
        severity="error",
    )


def _without_row(
    task: str,
    count: int,
    run: Path,
) -> Finding:
    return Finding(
        "subset",
        Subject(task),
        count,
        cause="some answers of the shards have no score row",
        remedy=f"mmeval score {shlex.quote(str(run))}",
        severity="error",
    )
