"""The results of a run that was asked in shards: their folders are joined, and numbers made of them.

Nothing is asked and no backend is made, so a machine without the model and the judge's key can do it. The shards of one
number N are a *division*; each is complete in itself, since a shard reads what others have answered. So shards of
another N may finish what an earlier division has left.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.broker.broker import Broker
from mmeval.dataset.sampling import Subset
from mmeval.errors import EXIT_INCOMPLETE, IdentityChangedError, MissingDataError, UsageError
from mmeval.records.response import ErrorInfo
from mmeval.rescore.join import join
from mmeval.rescore.selection import stored_selection
from mmeval.results.stored_run import newest_results
from mmeval.run.backends import Backends
from mmeval.run.complaints import lost_complaints, unasked_complaints
from mmeval.run.jobs import ChosenTrials
from mmeval.run.options import RunOptions, RunOutcome, Unfinished
from mmeval.run.progress import Progress, RunTally
from mmeval.run.runner import Runner
from mmeval.run.suspension import Suspension, score_command
from mmeval.run.task_run import TaskRun
from mmeval.scoring.score_set import PLAN, ScoreSet
from mmeval.scoring.trial_rows import ScoringPlan
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.paths import Wanted, every_trial, trial_key
from mmeval.store.run_folder import RunFolder, differences
from mmeval.store.shard import MERGED, Shard, from_progressions, shards_of, state, unmerged
from mmeval.store.task_records import TaskRecords
from mmeval.system.json_lines import from_line, read_rows, unsealed_document
from mmeval.task.task import Selection, Task, TaskOverrides
from mmeval.wording import file_name

CHOOSING = ("limit", "offset", "samples", "sample_shuffle", "stratify")
"""The settings that say which samples a run takes."""


class StoredShard(NamedTuple):
    """A shard with its folder and its ``run.json``."""

    shard: Shard
    path: Path
    record: Mapping[str, Any]

    @property
    def is_finished(self) -> bool:
        return bool(self.record["finished"])

    @property
    def of_whole(self) -> Mapping[str, Any]:
        """What it knows of the whole run; empty before it has finished once."""
        found: Mapping[str, Any] = self.record.get("shard", {})
        return found

    @property
    def started(self) -> str:
        return str(self.record["sessions"][-1]["started"])


class Division(NamedTuple):
    """The shards of one number; ``lacking`` says which of them are missing or not finished."""

    shards: Sequence[StoredShard]
    lacking: Sequence[str]


@dataclass(frozen=True)
class Merged:
    """What came of merging: the results, and the states of the shards that went into them."""

    outcome: RunOutcome
    states: Mapping[str, str]

    def note(self) -> None:
        """Record it once the results are written: merging again has nothing to do then."""
        with closing(RunFolder(self.outcome.folder)) as folder:
            folder.note(**{MERGED: {"shards": dict(self.states), "exit_code": self.outcome.exit_code}})


def stored_shards(run: Path) -> list[StoredShard]:
    """The shards of a run that have begun, the one that was started last at the end.
    Raises MissingDataError without any."""
    found = [StoredShard(shard, path, RunFolder.read_record(path)) for shard, path in shards_of(run).items()]
    begun = sorted((one for one in found if one.record), key=lambda one: (one.started, one.shard))
    if not begun:
        raise MissingDataError(
            f"{run}: there are no shards in it; give the folder of a run, <output_path>/<model>/<run_id>, whose "
            "command was given with --shard I/N"
        )
    return begun


def division_of(run: Path, shards: Sequence[StoredShard], *, partial: bool) -> Division:
    """The newest division that is complete, else the newest one. Raises UsageError for that, unless ``partial``."""
    by_number: dict[int, dict[int, StoredShard]] = {}
    for one in shards:
        known = by_number.pop(one.shard.of, {})  # the newest stands last
        by_number[one.shard.of] = {**known, one.shard.number: one}
    found = [Division([*members.values()], [*_lacking(of, members)]) for of, members in by_number.items()]
    division = next((one for one in reversed(found) if not one.lacking), found[-1])
    if division.lacking and not partial:
        raise UsageError(
            f"{run}: {', '.join(division.lacking)}. Run what is left, or give --partial for results without it"
        )
    return division


def _lacking(of: int, members: Mapping[int, StoredShard]) -> Iterator[str]:
    for number in range(1, of + 1):
        if number not in members:
            yield f"shard {number}/{of} is missing"
        elif not members[number].is_finished:
            yield f"shard {number}/{of} is not finished"


def check_alike(run: Path, shards: Sequence[StoredShard], division: Division) -> None:
    """Raises IdentityChangedError where a shard was made by another model, with other settings or of other data.
    The error has the field and both values."""
    first = division.shards[0]
    own = RunFolder.read_record(run)
    known = [(str(run), own)] if own and any(run.glob("journal/*.jsonl")) else []
    for name, record in [*known, *((f"shard {one.shard}", one.record) for one in shards)]:
        _check_pair(run, first, name, [*differences(first.record["identity"], record["identity"])])
    for one in shards:
        _check_pair(run, first, f"shard {one.shard}", [*_of_tasks(first.record, one.record)])
    for one in division.shards:
        _check_pair(run, first, f"shard {one.shard}", [*_of_choice(first, one)])


def _check_pair(run: Path, first: StoredShard, other: str, changes: Sequence[str]) -> None:
    if changes:
        raise IdentityChangedError(
            f"{run}: shard {first.shard} and {other} differ ({'; '.join(changes)}). Run the wrong one again with "
            "--fresh, or move its folder away"
        )


def _of_tasks(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """The differences of the tasks that two records have."""
    for name in before["tasks"].keys() & now["tasks"].keys():
        marks = ({"fingerprint": record["data"][name]["fingerprint"]} for record in (before, now))
        yield from differences(*marks, f"data.{name}")
        yield from differences(before["tasks"][name], now["tasks"][name], f"tasks.{name}")


def _of_choice(first: StoredShard, one: StoredShard) -> Iterator[str]:
    """The differences of two shards of one division in what they are parts of, and in how they are scored."""
    settings = [{name: shard.record["settings"].get(name) for name in CHOOSING} for shard in (first, one)]
    yield from differences(*settings, "settings")
    yield from differences(*({"names": sorted(shard.record["tasks"])} for shard in (first, one)), "tasks")
    for task in first.of_whole.get("score_sets", {}):
        plans = [_plan(shard, task) for shard in (first, one)]
        if all(plans):
            yield from differences(*plans, f"scores.{task}")


def _plan(shard: StoredShard, task: str) -> dict[str, Any]:
    """What a shard's score rows of a task depend on; empty where it has none."""
    name = shard.of_whole.get("score_sets", {}).get(task)
    file = shard.path / "scores" / file_name(task) / str(name) / PLAN
    return unsealed_document(from_line(file.read_bytes())) if file.is_file() else {}


def is_merged(run: Path) -> bool:
    """Whether the run has all that its shards hold, and results of it."""
    record = RunFolder.read_record(run)
    return bool(record.get(MERGED)) and not any(unmerged(run, record)) and newest_results(run, record) is not None


def merge(run: Path, options: RunOptions, *, progress: Progress, partial: bool) -> Merged:
    """Join the shards of a run into it and make its results.
    Raises RunLockedError while one of them is at work, and what ``division_of`` and ``check_alike`` raise."""
    with ExitStack() as locked:
        for path in shards_of(run).values():
            locked.enter_context(closing(RunFolder(path)))
        shards = stored_shards(run)
        division = division_of(run, shards, partial=partial)
        check_alike(run, shards, division)
        with closing(RunFolder(run)):
            join(run, [one.path for one in shards])
        states = {one.shard.folder_name: state(one.path) for one in shards}
        selection = stored_selection(division.shards[-1].record, TaskOverrides(), frozenset(options.roles))
        selection = replace(selection, tasks=tuple(_as_scored(task, division) for task in selection))
        outcome = _MergedTrials(run, selection, options, progress, shards=shards, division=division).run()
    return Merged(outcome, states)


def _as_scored(task: Task, division: Division) -> Task:
    """The task with those metrics unavailable that were so where the shards ran."""
    entries = next((plan["metrics"] for one in division.shards if (plan := _plan(one, task.name))), ())
    if [entry["metric"] for entry in entries] != [metric.bound.name for metric in task.metrics]:
        return task
    metrics = zip(task.metrics, entries, strict=True)
    return replace(
        task, metrics=tuple(replace(one, unavailable=entry.get("unavailable", "")) for one, entry in metrics)
    )


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
    ) -> None:
        first = division.shards[-1]
        super().__init__(run, first.record["options"]["model_name"], selection, options, progress)
        self._shards, self._division, self._first = shards, division, first
        whole = [one.of_whole for one in division.shards if one.of_whole]
        self._whole: Mapping[str, Any] = whole[-1] if whole else {}
        self.data = first.record["data"]
        self.scores = bool(self._whole.get("score_sets")) or not options.predict_only
        self._made: dict[str, set[int]] = {}
        self._trials: dict[str, int] = {}

    def prepare(self, _media: MediaStore) -> Backends:
        return Backends({})

    def open(self, folder: RunFolder, journal: Journal) -> Broker:
        record = self._first.record
        sessions = [session for one in self._shards for session in one.record["sessions"]]
        earlier = folder.record.get("sessions", [])
        folder.note(sessions=sorted([*earlier, *(one for one in sessions if one not in earlier)], key=_started))
        folder.describe(
            identity=record["identity"],
            provenance=record["sessions"][-1]["provenance"],
            tasks=record["tasks"],
            groups=record["groups"],
            data=record["data"],
            options=record["options"],
            settings=self.options.settings,
            command=self.options.command,
        )
        return Broker(journal)

    def task_run(self, task: Task, plan: ScoringPlan) -> TaskRun:
        definition = next((found for one in self._division.shards if (found := _plan(one, task.name))), None)
        return TaskRun(
            task,
            plan,
            TaskRecords(self.path, task.name),
            ScoreSet(self.path, task.name, definition) if definition and self.scores else None,
            tuple(m.bound for m in task.metrics if m.bound.metric.judged and not m.unavailable),
        )

    def begin(self) -> Coroutine[Any, Any, None]:
        self.work, self.tally, self.suspension = self, RunTally(), Suspension()
        return self._count()

    def stop(self) -> None:
        """There is nothing to stop."""

    async def leave(self) -> None:
        """Nothing is in flight."""

    async def _count(self) -> None:
        for run, wanted in zip(self.runs, self.chosen(), strict=True):
            latest = {}
            for _, row in read_rows(run.records.trial_file):
                if wanted(row["i"], row["n"]):
                    latest[trial_key(row["i"], row["n"])] = row.get("error")
            self._made[run.task.name] = {key >> 16 for key in latest}
            self._trials[run.task.name] = len(latest)
            for error in latest.values():
                self._tell(None if error is None else ErrorInfo.from_json(error))
        self.progress.note(f"{sum(self._trials.values()):,} trials of shards {', '.join(self._numbers)}")

    def _tell(self, error: ErrorInfo | None) -> None:
        if error is None:
            self.tally.kept += 1
        elif error.kind == "unsupported":
            self.tally.unsupported[error.message] += 1
        else:
            self.tally.failed[error.kind] += 1
            self.tally.examples.setdefault(error.kind, error.message)

    @property
    def _numbers(self) -> list[str]:
        return [str(one.shard) for one in sorted(self._division.shards)]

    def so_far(self) -> str:
        return ""

    def end(self, folder: RunFolder) -> None:
        folder.note(finished=not self._division.lacking)

    def chosen(self) -> Sequence[Wanted]:
        known = self._whole.get("chosen")
        if known is None:
            return [every_trial] * len(self.selection.tasks)
        return [ChosenTrials(task.repeats, from_progressions(known.get(task.name, []))) for task in self.selection]

    def again(self) -> str:
        return f"run {score_command(self.path, self.selection.tasks, self.options.roles, self.options.roles)}"

    def completed(self, outcome: RunOutcome) -> RunOutcome:
        lost = [*lost_complaints(self.tally, again="its shard's command"), *unasked_complaints(self.tally)]
        subsets = {
            name: Subset(subset["of"], len(self._made[name]), tuple(subset["how"]))
            for name, subset in self._whole.get("subsets", {}).items()
        }
        outcome = replace(
            outcome,
            subsets=subsets,
            roles=dict(self.options.roles),
            metric_device=self._whole.get("metric_device", ""),
            complaints=(*lost, *outcome.complaints),
        )
        if not self._division.lacking:
            return outcome
        return replace(
            outcome,
            exit_code=EXIT_INCOMPLETE,
            unfinished={name: Unfinished(made, self.data[name].get("trials")) for name, made in self._trials.items()},
            complaints=(
                f"{', '.join(self._division.lacking)}: these are results without it; run what is left, then mmeval "
                f"merge {self.path}",
                *outcome.complaints,
            ),
        )


def _started(session: Mapping[str, Any]) -> str:
    return str(session["started"])
