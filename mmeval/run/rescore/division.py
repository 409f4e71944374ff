"""The shards that a run has, which of them make its results, and whether they are parts
of the same run.

The shards of one number N are a *division*. Each division is complete in itself, since
a shard reads what others have answered: so shards of another N may finish what an
earlier division has left.
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
"""The settings that say which samples a run takes, and whether it scores them."""


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
        """What it knows of the whole run; empty before it has finished once."""
        found: Mapping[str, Any] = self.record.get("shard", {})
        return found

    @property
    def choice(self) -> dict[str, Any]:
        """What says of which run it is a part."""
        settings = self.record["settings"]
        chosen = {name: settings[name] for name in CHOOSING if name in settings}
        return {"tasks": sorted(self.record["tasks"]), "settings": chosen}

    def share(self, task: Task) -> list[int]:
        """The keys of the trials of a task that it had when it was finished."""
        chosen = self.run_notes.get("chosen", {}).get(task.name, [])
        keys = []
        for place in self.shard.share_of(from_progressions(chosen)):
            for repeat in range(task.repeats):
                keys.append(trial_key(place, repeat))
        return keys

    def definition(self, task: str) -> dict[str, Any]:
        """What its score rows of a task depend on; empty where it has none. Raises
        UsageError for a damaged record."""
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
                f"{file}: is damaged ({error}); remove its folder, and run shard "
                f"{self.shard} again to score it"
            ) from None

    @property
    def started(self) -> str:
        return str(self.record["sessions"][-1]["started"])


class Division(NamedTuple):
    """The shards of one number; ``problems`` says which of them are missing or not
    finished."""

    shards: Sequence[StoredShard]
    problems: Sequence[str]

    def definition(self, task: str) -> dict[str, Any]:
        """What the score rows of a task depend on; empty where none of the shards has
        any."""
        for shard in self.shards:
            definition = shard.definition(task)
            if definition:
                return definition
        return {}


def stored_shards(run: Path) -> list[StoredShard]:
    """The shards of a run that have begun, the one that was started last at the end.
    Raises MissingDataError without any, and UsageError for a folder with the records of
    another shard, as where one was copied under another name."""
    begun = []
    for shard, path in shards_of(run).items():
        record = RunFolder.read_record(path)
        name = record.get("options", {}).get("shard")
        if name is None:  # a record of an earlier mmeval
            name = record.get("settings", {}).get("shard")
        recorded = Shard.named(name)
        if recorded is not None and recorded != shard:
            raise UsageError(
                f"{path}: holds the trials of shard {recorded}, not of {shard}. Put "
                f"the folder of shard {shard} in its place, or move this one away"
            )
        if record:
            begun.append(StoredShard(shard, path, record))
    if not begun:
        raise MissingDataError(
            f"{run}: there are no shards in it; give the folder of a run, "
            "<output_path>/<model>/<run_id>, whose "
            "command was given with --shard I/N"
        )
    return sorted(begun, key=lambda stored: (stored.started, stored.shard))


def division_of(
    run: Path,
    shards: Sequence[StoredShard],
    *,
    partial: bool,
) -> Division:
    """The newest division that is complete, else the newest one. Raises UsageError for
    that, unless ``partial``."""
    by_number: dict[int, dict[int, StoredShard]] = {}
    for stored in shards:
        known = by_number.pop(stored.shard.of, {})  # the newest stands last
        by_number[stored.shard.of] = {**known, stored.shard.number: stored}
    divisions = []
    for of, members in reversed(by_number.items()):
        division = Division(list(members.values()), _lacking(of, members))
        if not division.problems:
            return division
        divisions.append(division)
    newest = divisions[0]
    if not partial:
        raise UsageError(
            f"{run}: {'; '.join(newest.problems)}. Run what is left, or give "
            "--partial for results without it"
        )
    return newest


def _lacking(of: int, members: Mapping[int, StoredShard]) -> list[str]:
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


def check_alike(
    run: Path,
    shards: Sequence[StoredShard],
    division: Division,
) -> None:
    """Raises IdentityChangedError where a shard was made by another model, with other
    settings or of other data. The error has the field and both values."""
    first = division.shards[0]
    identity, tasks = first.record["identity"], first.record["tasks"]
    own = RunFolder.read_record(run)
    if own and any(run.glob("journal/*.jsonl")):
        changes = list(differences(identity, own["identity"]))
        _check_pair(run, first, str(run), changes)
    for shard in shards:
        changes = list(differences(identity, shard.record["identity"]))
        _check_pair(run, first, f"shard {shard.shard}", changes)
    for shard in shards:
        changes = []
        for name in tasks.keys() & shard.record["tasks"].keys():
            data, other = (one.record["data"][name] for one in (first, shard))
            mark = {"fingerprint": data["fingerprint"]}
            other_mark = {"fingerprint": other["fingerprint"]}
            changes += differences(mark, other_mark, f"data.{name}")
            task = shard.record["tasks"][name]
            changes += differences(tasks[name], task, f"tasks.{name}")
        _check_pair(run, first, f"shard {shard.shard}", changes)
    # what they are parts of, and how they are scored
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
            "Run the wrong one again as the other, or move its folder away"
        )
