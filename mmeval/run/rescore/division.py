"""The shards that a run has, which of them make its results, and whether they are parts
of the same run.

The shards of one number N are a *division*. Each division is complete in itself, since
a shard reads what others have answered: so shards of another N may finish what an
earlier division has left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    def of_whole(self) -> Mapping[str, Any]:
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
        chosen = self.of_whole.get("chosen", {}).get(task.name, [])
        places = self.shard.share_of(from_progressions(chosen))
        return [
            trial_key(place, repeat)
            for place in places
            for repeat in range(task.repeats)
        ]

    def definition(self, task: str) -> dict[str, Any]:
        """What its score rows of a task depend on; empty where it has none. Raises
        UsageError for a damaged record."""
        sets = self.path / "scores" / file_name(task)
        name = self.of_whole.get("score_sets", {}).get(task)
        newest = max(
            sets.glob("*/"), key=lambda folder: folder.stat().st_mtime, default=sets
        )
        file = (sets / name if name else newest) / PLAN
        try:
            return (
                unsealed_document(from_line(file.read_bytes()))
                if file.is_file()
                else {}
            )
        except ValueError as error:
            raise UsageError(
                f"{file}: is damaged ({error}); remove its folder, and run shard "
                f"{self.shard} again to score it"
            ) from None

    @property
    def started(self) -> str:
        return str(self.record["sessions"][-1]["started"])


class Division(NamedTuple):
    """The shards of one number; ``lacking`` says which of them are missing or not
    finished."""

    shards: Sequence[StoredShard]
    lacking: Sequence[str]

    def definition(self, task: str) -> dict[str, Any]:
        """What the score rows of a task depend on; empty where none of the shards has
        any."""
        return next(
            (found for one in self.shards if (found := one.definition(task))), {}
        )


def stored_shards(run: Path) -> list[StoredShard]:
    """The shards of a run that have begun, the one that was started last at the end.
    Raises MissingDataError without any, and UsageError for a folder with the records of
    another shard."""
    found = [
        StoredShard(shard, path, RunFolder.read_record(path))
        for shard, path in shards_of(run).items()
    ]
    for one in found:
        _check_name(one)
    begun = sorted(
        (one for one in found if one.record), key=lambda one: (one.started, one.shard)
    )
    if not begun:
        raise MissingDataError(
            f"{run}: there are no shards in it; give the folder of a run, "
            "<output_path>/<model>/<run_id>, whose "
            "command was given with --shard I/N"
        )
    return begun


def _check_name(stored: StoredShard) -> None:
    """Raises UsageError for a folder that holds the records of another shard, as where
    one was copied under another name."""
    record = stored.record
    name = record.get("options", {}).get("shard")
    if name is None:  # a record of an earlier mmeval
        name = record.get("settings", {}).get("shard")
    recorded = Shard.named(name)
    if recorded is not None and recorded != stored.shard:
        raise UsageError(
            f"{stored.path}: holds the trials of shard {recorded}, not of "
            f"{stored.shard}. Put the folder of shard {stored.shard} in its place, or "
            "move this one away"
        )


def division_of(run: Path, shards: Sequence[StoredShard], *, partial: bool) -> Division:
    """The newest division that is complete, else the newest one. Raises UsageError for
    that, unless ``partial``."""
    by_number: dict[int, dict[int, StoredShard]] = {}
    for one in shards:
        known = by_number.pop(one.shard.of, {})  # the newest stands last
        by_number[one.shard.of] = {**known, one.shard.number: one}
    found = [
        Division(list(members.values()), list(_lacking(of, members)))
        for of, members in by_number.items()
    ]
    division = next((one for one in reversed(found) if not one.lacking), found[-1])
    if division.lacking and not partial:
        raise UsageError(
            f"{run}: {'; '.join(division.lacking)}. Run what is left, or give "
            "--partial for results without it"
        )
    return division


def _lacking(of: int, members: Mapping[int, StoredShard]) -> Iterator[str]:
    unfinished = [
        members[number].shard
        for number in sorted(members)
        if not members[number].is_finished
    ]
    if unfinished:
        yield f"not finished: {in_words(unfinished)}"
    missing = of - len(members)
    if missing:
        numbers = (number for number in range(1, of + 1) if number not in members)
        first = [Shard(of, number) for number in islice(numbers, 3)]
        yield f"missing: {in_words(first, missing)}"


def check_alike(run: Path, shards: Sequence[StoredShard], division: Division) -> None:
    """Raises IdentityChangedError where a shard was made by another model, with other
    settings or of other data. The error has the field and both values."""
    first = division.shards[0]
    own = RunFolder.read_record(run)
    known = [(str(run), own)] if own and any(run.glob("journal/*.jsonl")) else []
    for name, record in [
        *known,
        *((f"shard {one.shard}", one.record) for one in shards),
    ]:
        _check_pair(
            run,
            first,
            name,
            list(differences(first.record["identity"], record["identity"])),
        )
    for one in shards:
        _check_pair(
            run, first, f"shard {one.shard}", list(_of_tasks(first.record, one.record))
        )
    for one in division.shards:
        _check_pair(run, first, f"shard {one.shard}", list(_of_choice(first, one)))


def _check_pair(
    run: Path, first: StoredShard, other: str, changes: Sequence[str]
) -> None:
    if changes:
        raise IdentityChangedError(
            f"{run}: shard {first.shard} and {other} differ ({listed(changes, 3)}). "
            "Run the wrong one again as the other, or move its folder away"
        )


def _of_tasks(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """The differences of the tasks that two records have."""
    for name in before["tasks"].keys() & now["tasks"].keys():
        marks = {"fingerprint": before["data"][name]["fingerprint"]}
        yield from differences(
            marks, {"fingerprint": now["data"][name]["fingerprint"]}, f"data.{name}"
        )
        yield from differences(
            before["tasks"][name], now["tasks"][name], f"tasks.{name}"
        )


def _of_choice(first: StoredShard, one: StoredShard) -> Iterator[str]:
    """The differences of two shards of one division in what they are parts of, and in
    how they are scored."""
    yield from differences(first.choice, one.choice)
    for task in first.record["tasks"]:
        plan, other = first.definition(task), one.definition(task)
        if plan and other:
            yield from differences(plan, other, f"scores.{task}")
