"""Selects the shards of a run to merge, and checks that they match.

The shards with the same N are a *division*. Each division covers the whole run. A shard
reuses the answers of all other shards, so shards with another N can finish the work of
an earlier division.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import IdentityChangedError, MissingDataError, UsageError
from mmeval.metric.scoring.score_set import PLAN
from mmeval.store.paths import trial_key
from mmeval.store.run_folder import RunFolder, differences
from mmeval.store.shard import Shard, from_progressions, in_words, shards_of
from mmeval.system.json_lines import from_line, unsealed_document
from mmeval.system.wording import file_name, listed
from mmeval.task.task import Task

CHOOSING = ("limit", "offset", "samples", "sample_shuffle", "stratify", "predict_only")
"""Settings that select the samples of a run, or state whether it scores them."""


class StoredShard(NamedTuple):
    """A shard with its folder and its ``run.json``."""

    shard: Shard
    path: Path
    record: Mapping[str, Any]

    @property
    def is_finished(self) -> bool:
        return bool(self.record["finished"])

    @property
    def run_notes(self) -> Mapping[str, Any]:
        """The shard's notes about the whole run; empty until it has finished once."""
        notes: Mapping[str, Any] = self.record.get("shard", {})
        return notes

    @property
    def choice(self) -> dict[str, Any]:
        """The tasks and settings that identify the run of the shard."""
        settings = self.record["settings"]
        chosen = {name: settings[name] for name in CHOOSING if name in settings}
        return {"tasks": sorted(self.record["tasks"]), "settings": chosen}

    def share(self, task: Task) -> list[int]:
        """Returns the keys of the task's trials that the shard had when it finished."""
        chosen = self.run_notes.get("chosen", {}).get(task.name, [])
        keys = []
        for place in self.shard.share_of(from_progressions(chosen)):
            for repeat in range(task.repeats):
                keys.append(trial_key(place, repeat))
        return keys

    def definition(self, task: str) -> dict[str, Any]:
        """Returns the definition of a task's score rows; empty if it has no rows.

        Raises UsageError for a damaged record.
        """
        sets = self.path / "scores" / file_name(task)
        name = self.run_notes.get("score_sets", {}).get(task)
        if name:
            folder = sets / name
        else:
            folders = sets.glob("*/")
            folder = max(folders, key=lambda path: path.stat().st_mtime, default=sets)
        file = folder / PLAN
        if not file.is_file():
            return {}
        try:
            return unsealed_document(from_line(file.read_bytes()))
        except ValueError as error:
            raise UsageError(
                f"{file} is damaged ({error}). Remove its folder, and run shard "
                f"{self.shard} again to score it"
            ) from None

    @property
    def started(self) -> str:
        return str(self.record["sessions"][-1]["started"])


class Division(NamedTuple):
    """The shards with the same N.

    ``problems`` states which of these shards are missing or not finished.
    """

    shards: Sequence[StoredShard]
    problems: Sequence[str]

    def definition(self, task: str) -> dict[str, Any]:
        """Returns the definition of a task's score rows; empty if no shard has rows."""
        for shard in self.shards:
            definition = shard.definition(task)
            if definition:
                return definition
        return {}


def stored_shards(run: Path) -> list[StoredShard]:
    """Returns the started shards of a run, in order of their last start.

    Raises MissingDataError if there are none. Raises UsageError for a folder with the
    record of another shard, such as a copy under another name.
    """
    started = []
    for shard, path in shards_of(run).items():
        record = RunFolder.read_record(path)
        name = record.get("options", {}).get("shard")
        if name is None:  # a record of an earlier mmeval
            name = record.get("settings", {}).get("shard")
        recorded = Shard.named(name)
        if recorded is not None and recorded != shard:
            raise UsageError(
                f"{path} contains the trials of shard {recorded}, not of {shard}. Put "
                f"the folder of shard {shard} there, or move this folder away"
            )
        if record:
            started.append(StoredShard(shard, path, record))
    if not started:
        raise MissingDataError(
            f"{run} has no shards. Name the folder of a run that was started with "
            "--shard I/N, <output_path>/<model>/<run_id>"
        )
    return sorted(started, key=lambda stored: (stored.started, stored.shard))


def division_of(
    run: Path,
    shards: Sequence[StoredShard],
    *,
    partial: bool,
) -> Division:
    """Returns the newest complete division.

    If no division is complete, returns the newest one with ``partial``, else raises
    UsageError.
    """
    by_number: dict[int, dict[int, StoredShard]] = {}
    for stored in shards:
        members = by_number.pop(stored.shard.of, {})  # the newest is the last key
        by_number[stored.shard.of] = {**members, stored.shard.number: stored}
    divisions = []
    for of, members in reversed(by_number.items()):
        division = Division(list(members.values()), _problems(of, members))
        if not division.problems:
            return division
        divisions.append(division)
    newest = divisions[0]
    if not partial:
        raise UsageError(
            f"{run}: {'; '.join(newest.problems)}. Run these shards, or give --partial "
            "to leave them out"
        )
    return newest


def _problems(of: int, members: Mapping[int, StoredShard]) -> list[str]:
    problems = []
    unfinished = []
    for number in sorted(members):
        if not members[number].is_finished:
            unfinished.append(members[number].shard)
    if unfinished:
        problems.append(f"not finished: {in_words(unfinished)}")
    missing = of - len(members)
    if missing:
        numbers = (number for number in range(1, of + 1) if number not in members)
        first = [Shard(of, number) for number in islice(numbers, 3)]
        problems.append(f"missing: {in_words(first, missing)}")
    return problems


def check_same_run(
    run: Path,
    shards: Sequence[StoredShard],
    division: Division,
) -> None:
    """Raises IdentityChangedError if shards differ in model, settings or data.

    The message names the field and both values.
    """
    first = division.shards[0]
    identity, tasks = first.record["identity"], first.record["tasks"]
    run_record = RunFolder.read_record(run)
    if run_record and any(run.glob("journal/*.jsonl")):
        changes = list(differences(identity, run_record["identity"]))
        _check_pair(run, first, str(run), changes)
    for shard in shards:
        changes = list(differences(identity, shard.record["identity"]))
        _check_pair(run, first, f"shard {shard.shard}", changes)
    for shard in shards:
        changes = []
        for name in tasks.keys() & shard.record["tasks"].keys():
            data, other = first.record["data"][name], shard.record["data"][name]
            mark = {"fingerprint": data["fingerprint"]}
            other_mark = {"fingerprint": other["fingerprint"]}
            changes += differences(mark, other_mark, f"data.{name}")
            task = shard.record["tasks"][name]
            changes += differences(tasks[name], task, f"tasks.{name}")
        _check_pair(run, first, f"shard {shard.shard}", changes)
    # shards of one division must also agree in the samples and the scoring of the run
    for shard in division.shards:
        changes = list(differences(first.choice, shard.choice))
        for name in tasks:
            plan, other = first.definition(name), shard.definition(name)
            if plan and other:
                changes += differences(plan, other, f"scores.{name}")
        _check_pair(run, first, f"shard {shard.shard}", changes)


def _check_pair(
    run: Path, first: StoredShard, other: str, changes: Sequence[str]
) -> None:
    if changes:
        raise IdentityChangedError(
            f"{run}: shard {first.shard} and {other} differ ({listed(changes, 3)}). "
            "Run the wrong shard again with the same settings, or move its folder away"
        )
