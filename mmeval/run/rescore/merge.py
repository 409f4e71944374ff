"""The results of a run that was asked in shards: their folders are joined, and numbers
made of them.

Nothing is asked and no backend is made, so a machine without the model and the judge's
key can do it.
"""

from __future__ import annotations

import shlex
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
from mmeval.run.jobs import ChosenTrials
from mmeval.run.losses import lost_answers, not_asked
from mmeval.run.options import RunOptions, RunOutcome, Unfinished
from mmeval.run.progress import Progress, RunTally
from mmeval.run.rescore.division import (
    Division,
    StoredShard,
    check_alike,
    division_of,
    stored_shards,
)
from mmeval.run.rescore.join import join
from mmeval.run.rescore.selection import stored_selection
from mmeval.run.rescore.whole import checked
from mmeval.run.runner import Runner
from mmeval.run.suspension import Suspension, score_command
from mmeval.run.task_run import TaskRun
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.paths import Wanted, every_trial, trial_key
from mmeval.store.run_folder import RunFolder
from mmeval.store.shard import MERGED, from_progressions, shards_of, state, unmerged
from mmeval.store.task_records import TaskRecords, trial_rows
from mmeval.system.json_lines import read_rows
from mmeval.system.wording import listed
from mmeval.task.task import Selection, Task, TaskOverrides


@dataclass(frozen=True, slots=True)
class HeldTrials:
    """One task's chosen trials without those that are lost."""

    chosen: ChosenTrials
    lost: frozenset[int]

    def __call__(self, index: int, repeat: int) -> bool:
        is_lost = trial_key(index, repeat) in self.lost
        return self.chosen(index, repeat) and not is_lost


@dataclass(frozen=True)
class Merged:
    """What came of merging: the results, and the states of the shards that went into
    them. ``has_lost``: recorded trials of these shards were not there."""

    outcome: RunOutcome
    states: Mapping[str, str]
    has_lost: bool

    def note(self) -> None:
        """Record it once the results are written: merging again has nothing to do
        then."""
        merged = {
            "shards": dict(self.states),
            "exit_code": self.outcome.exit_code,
            "has_lost": self.has_lost,
        }
        with closing(RunFolder(self.outcome.folder)) as folder:
            folder.note(**{MERGED: merged})


def is_merged(run: Path) -> bool:
    """Whether the run has all that its shards hold, and results of it."""
    record = RunFolder.read_record(run)
    merged = record.get(MERGED)
    if not merged or merged.get("has_lost"):
        # media are not part of a shard's state: they may have been copied since
        return False
    return not any(unmerged(run, record)) and newest_results(run, record) is not None


def check_at_rest(run: Path) -> None:
    """Raises RunLockedError while a shard is at work."""
    for path in shards_of(run).values():
        RunFolder(path).close()


def merge(
    run: Path, options: RunOptions, *, progress: Progress, partial: bool
) -> Merged:
    """Join the shards of a run into it and make its results. Raises RunLockedError
    while one of them is at work, what ``division_of`` and ``check_alike`` raise, and
    UsageError for trials that are lost, unless ``partial``."""
    with ExitStack() as locked:
        for path in shards_of(run).values():
            locked.enter_context(closing(RunFolder(path)))
        shards = stored_shards(run)
        division = division_of(run, shards, partial=partial)
        check_alike(run, shards, division)
        selection = stored_selection(
            division.shards[-1].record, TaskOverrides(), frozenset(options.roles)
        )
        with closing(RunFolder(run)):
            whole = checked(run, shards, division, selection.tasks)
            if whole.lacking and not partial:
                raise UsageError(
                    f"{run}: {listed(whole.lacking, 3)}. Copy these shards again or "
                    "run their commands again, or give --partial for results without "
                    "the rest"
                )
            join(run, [one.path for one in shards], whole.made_again)
        division = division._replace(lacking=(*division.lacking, *whole.lacking))
        states = {}
        for shard, path in shards_of(run).items():
            states[shard.folder_name] = state(path)
        tasks = tuple(_as_scored(task, division) for task in selection)
        selection = replace(selection, tasks=tasks)
        outcome = _MergedTrials(
            run,
            selection,
            options,
            progress,
            shards=shards,
            division=division,
            lost=whole.lost,
        ).run()
    return Merged(outcome, states, has_lost=bool(whole.lacking))


def _as_scored(task: Task, division: Division) -> Task:
    """The task with those metrics unavailable that were so where the shards ran."""
    entries = division.definition(task.name).get("metrics", ())
    names = [metric.bound.name for metric in task.metrics]
    if names != [entry["metric"] for entry in entries]:
        return task
    metrics = []
    for metric, entry in zip(task.metrics, entries, strict=True):
        lacks = tuple(map(Finding.from_json, entry.get("lacks", ())))
        metrics.append(replace(metric, lacks=lacks))
    return replace(task, metrics=tuple(metrics))


class _MergedTrials(Runner):
    """The trials that shards have made and scored; nothing is asked."""

    options: RunOptions
    in_flight = 0

    def __init__(
        self,
        run: Path,
        selection: Selection,
        options: RunOptions,
        progress: Progress,
        *,
        shards: Sequence[StoredShard],
        division: Division,
        lost: Mapping[str, frozenset[int]],
    ) -> None:
        first = division.shards[-1]
        super().__init__(
            run, first.record["options"]["model_name"], selection, options, progress
        )
        self._shards, self._division, self._first = shards, division, first
        self._lost = lost
        self._whole: Mapping[str, Any] = {}
        for shard in division.shards:
            self._whole = shard.of_whole or self._whole
        self.data = first.record["data"]
        self.scores = bool(self._whole.get("score_sets")) or not options.predict_only
        self._made: dict[str, set[int]] = {}
        self._trials: dict[str, int] = {}
        self._without_row: dict[str, int] = {}
        """By task, how many answers have no row of scores: a shard was copied in part,
        say."""

    def prepare(self, _media: MediaStore) -> Backends:
        return Backends({})

    def open(self, folder: RunFolder, journal: Journal) -> Broker:
        record = self._first.record
        earlier = folder.record.get("sessions", [])
        sessions = list(earlier)
        for shard in self._shards:
            sessions += [one for one in shard.record["sessions"] if one not in earlier]
        sessions.sort(key=lambda session: str(session["started"]))
        folder.note(sessions=sessions)
        options = dict(record["options"])
        options.pop("shard", None)
        folder.describe(
            identity=record["identity"],
            provenance=record["sessions"][-1]["provenance"],
            tasks=record["tasks"],
            groups=record["groups"],
            data=record["data"],
            options=options,
            left_out=record.get("left_out"),
            settings=self.options.settings,
            command=self.options.command,
        )
        return Broker(journal)

    def task_run(self, task: Task, plan: ScoringPlan) -> TaskRun:
        definition = self._division.definition(task.name)
        scores = None
        if definition and self.scores:
            scores = ScoreSet(self.path, task.name, definition)
        judged = []
        for metric in task.metrics:
            if metric.bound.metric.judged and not metric.unavailable:
                judged.append(metric.bound)
        records = TaskRecords(self.path, task.name)
        return TaskRun(task, plan, records, scores, tuple(judged))

    def begin(self) -> Coroutine[Any, Any, None]:
        self.work, self.tally, self.suspension = self, RunTally(), Suspension()
        return self._count()

    def stop(self) -> None:
        """There is nothing to stop."""

    async def leave(self) -> None:
        """Nothing is in flight."""

    async def _count(self) -> None:
        for run, wanted in zip(self.runs, self.chosen(), strict=True):
            name = run.task.name
            latest = {}
            for _, row in read_rows(run.records.trial_file):
                if wanted(row["i"], row["n"]):
                    key = trial_key(row["i"], row["n"])
                    latest[key] = (row.get("error"), row.get("left_out", ()))
            self._made[name] = {key >> 16 for key in latest}
            self._trials[name] = len(latest)
            answered = set()
            for key in sorted(latest):
                failure, left_out = latest[key]
                error = None if failure is None else ErrorInfo.from_json(failure)
                self.tally.recall(error, left_out)
                if error is None:
                    answered.add(key)
            if self.scores and run.task.metrics:
                scored = set() if run.scores is None else run.scores.trials()
                lost = len(answered - scored)
                if lost:
                    self._without_row[name] = lost
            for rows in trial_rows(self.path, name, wanted=wanted):
                if "error" not in rows.trial:
                    exchanges = stored_exchanges(rows.trial, self.broker.journal)
                    self.tally.remarks.add([exchange for exchange, _ in exchanges])
        made = sum(self._trials.values())
        trials = [self._wanted(task.name) for task in self.selection]
        known = [count for count in trials if count is not None]
        count = f"{made:,}"
        if len(known) == len(trials) and made < sum(known):
            count += f" of {sum(known):,}"
        shards = sorted(stored.shard for stored in self._division.shards)
        named = listed([str(shard) for shard in shards], 3)
        self.progress.note(f"{count} trials of shards {named}")

    def _wanted(self, task: str) -> int | None:
        """How many trials of a task the whole run has, as far as that is known."""
        trials: int | None = self.data[task].get("trials")
        return trials

    def so_far(self) -> str:
        return ""

    def end(self, folder: RunFolder) -> None:
        folder.note(finished=not self._division.lacking)

    def chosen(self) -> Sequence[Wanted]:
        known = self._whole.get("chosen")
        if known is None:
            return [every_trial] * len(self.selection.tasks)
        chosen = []
        for task in self.selection:
            places = from_progressions(known.get(task.name, []))
            lost = self._lost.get(task.name, frozenset())
            chosen.append(HeldTrials(ChosenTrials(task.repeats, places), lost))
        return chosen

    def again(self) -> str:
        roles = self.options.roles
        return score_command(self.path, self.selection.tasks, roles, roles)

    def completed(self, outcome: RunOutcome) -> RunOutcome:
        subsets = {}
        for name, subset in self._whole.get("subsets", {}).items():
            made = len(self._made[name])
            subsets[name] = Subset(subset["of"], made, tuple(subset["how"]))
        findings: list[Finding] = []
        for words in self._division.lacking:
            cause = f"{words}; run what is left, then merge again"
            findings.append(Finding("subset", cause=cause, severity="error"))
        unfinished = {}
        if findings:
            for name, trials in self._trials.items():
                if trials != self._wanted(name):
                    unfinished[name] = Unfinished(trials, self._wanted(name))
        findings += lost_answers(self.tally, "")
        for name, count in self._without_row.items():
            findings.append(
                Finding(
                    "subset",
                    Subject(name),
                    count,
                    cause="answers of the shards without a row of scores",
                    remedy=f"mmeval score {shlex.quote(str(self.path))}",
                    severity="error",
                )
            )
        findings += [
            *not_asked(self.tally),
            *outcome.findings,
            *self.tally.remarks.findings(),
        ]
        return replace(
            outcome,
            subsets=subsets,
            unfinished=unfinished,
            roles=dict(self.options.roles),
            metric_device=self._whole.get("metric_device", ""),
            findings=tuple(findings),
        )
