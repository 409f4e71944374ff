"""Checks that merged shards still have the trials that they recorded.

A finished shard records the number of its trials of each task, and a digest of them. An
incomplete copy has fewer trials. A missing trial is taken from the run or another
shard, or it is rebuilt: the task's protocol runs with the answers of the journal, and
the digest confirms the result.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.dataset.bad_sample import error_of
from mmeval.media.media import stored_path
from mmeval.media.parts import PartKind
from mmeval.metric.scoring.stored_trials import trial_row
from mmeval.program.calls import Call, Reply, reply_to, run_program
from mmeval.records.sample import Sample
from mmeval.records.trial import Exchange, Trial
from mmeval.run.rescore.division import Division, StoredShard
from mmeval.run.task_run import TaskRun, scoring_plan
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.paths import trial_key
from mmeval.store.shard import Shard
from mmeval.store.task_records import TaskRecords, recorded_trials, sample_rows, tally
from mmeval.system.json_lines import read_rows, sealed, to_line
from mmeval.system.number_set import NumberSet
from mmeval.task.task import Task

_BY_CONTENT = re.compile(r"([^/@+]+)(?:\+[^/]*)?/([0-9a-f]+)/(\d+)(?:/\d+)?")
"""Matches a journal key that identifies a call by its request.

The groups of the pattern are the role, the digest of the request and the repeat.
"""

Row = Mapping[str, Any]


class ShardCheck(NamedTuple):
    """The result of the check.

    ``lost`` contains the keys of missing trials by task, ``rebuilt_rows`` the lines of
    rebuilt trials by task. ``problems`` states for each shard what is missing.
    """

    lost: Mapping[str, frozenset[int]]
    rebuilt_rows: Mapping[str, Sequence[bytes]]
    problems: Sequence[str]


def check_shards(
    run: Path,
    shards: Sequence[StoredShard],
    division: Division,
    tasks: Sequence[Task],
) -> ShardCheck:
    """Checks the finished shards of a division. Folders are only read."""
    folders = [run, *(shard.path for shard in shards)]
    journal = Journal(
        run / "journal",
        MediaStore(run / "media"),
        writable=False,
        others=folders[1:],
    )
    lost: dict[str, frozenset[int]] = {}
    rebuilt_rows: dict[str, Sequence[bytes]] = {}
    problems: list[str] = []
    with closing(journal):
        for task in tasks:
            folders_of_task = _TaskInFolders(run, task, folders, journal)
            for shard in division.shards:
                if not shard.is_finished:
                    continue
                keys = shard.share(task)
                lost_keys = folders_of_task.check(shard, keys)
                if not lost_keys:
                    continue
                lost[task.name] = lost.get(task.name, frozenset()) | lost_keys
                if shard.shard in folders_of_task.shards_with_other_trials:
                    problems.append(
                        f"the trials of {task.name} in shard {shard.shard} differ from "
                        "those that it recorded"
                    )
                else:
                    problems.append(
                        f"shard {shard.shard} lacks trials of {task.name}: "
                        f"{len(lost_keys):,} of {len(keys):,}"
                    )
            rebuilt_rows[task.name] = folders_of_task.rebuilt_rows
    return ShardCheck(lost, rebuilt_rows, problems)


class _TrialState(NamedTuple):
    """The state of a recorded trial, with the digest of its row.

    ``is_present`` is True if its sample, an answer and its media exist. ``is_complete``
    is True if each of its calls has an answer or a recorded failure.
    """

    digest: str
    has_failed: bool
    is_present: bool
    is_complete: bool


class _TaskInFolders:
    """A task in the folders of a run and of its shards."""

    def __init__(
        self, run: Path, task: Task, folders: Sequence[Path], journal: Journal
    ) -> None:
        self.rebuilt_rows: list[bytes] = []
        self.shards_with_other_trials: set[Shard] = set()
        """Shards whose trials differ from those that they recorded."""
        self._run, self._task, self._folders = run, task, folders
        self._journal = journal
        self._samples = NumberSet()
        for folder in folders:
            for place, _ in sample_rows(folder, task.name):
                self._samples.add(place)
        self._by_folder: dict[Path, dict[int, _TrialState]] = {}
        """The state of each trial's latest row, by folder."""
        self._any_folder: dict[int, _TrialState] = {}
        """The state of each trial in any folder.

        An answer takes precedence over a failure.
        """
        for folder in folders:
            latest = {}
            for row in recorded_trials(folder, task.name):
                latest[trial_key(row["i"], row["n"])] = row
            self._by_folder[folder] = {}
            for key, row in latest.items():
                stored = self._state(row)
                self._by_folder[folder][key] = stored
                if not stored.has_failed or key not in self._any_folder:
                    self._any_folder[key] = stored

    def check(self, shard: StoredShard, keys: Collection[int]) -> frozenset[int]:
        """Returns the keys of a shard's missing trials.

        Rebuilt trials are added to ``rebuilt_rows`` instead.
        """
        recorded = shard.run_notes.get("trials", {}).get(self._task.name)
        shard_trials = self._by_folder[shard.path]
        digests = {key: shard_trials[key].digest for key in keys if key in shard_trials}
        has_rows = len(digests) == len(keys)
        if (
            recorded
            and has_rows
            and not self._has_answers(shard_trials, digests, recorded)
        ):
            self.shards_with_other_trials.add(shard.shard)
            return frozenset(keys)
        is_truncated = False
        for name, size in shard.run_notes.get("journal", {}).items():
            file = shard.path / "journal" / name
            if not file.is_file() or file.stat().st_size < size:
                is_truncated = True
        lost = set()
        for key in keys:
            stored = self._any_folder.get(key)
            if stored is None or not stored.is_present:
                lost.add(key)
            elif is_truncated and not stored.is_complete:
                # the answer of a call was at the missing end of the journal
                lost.add(key)
        without_row = [key for key in sorted(lost) if key not in self._any_folder]
        if not recorded or not without_row:
            return frozenset(lost)
        for key in keys:
            if key not in digests and key in self._any_folder:
                digests[key] = self._any_folder[key].digest
        rebuilt = self._rebuild(without_row, digests, recorded)
        self.rebuilt_rows += rebuilt.values()
        return frozenset(lost - rebuilt.keys())

    def _has_answers(
        self,
        shard_trials: Mapping[int, _TrialState],
        row_digests: Mapping[int, str],
        recorded: Row,
    ) -> bool:
        """Returns True if a shard with a row for each trial matches its record.

        A trial that failed first and was answered later has two rows, and an incomplete
        copy may lack the second row. Then the trial is taken from another folder or
        rebuilt.
        """
        if tally(row_digests) == recorded:
            return True
        digests = dict(row_digests)
        failed = [key for key in sorted(row_digests) if shard_trials[key].has_failed]
        for key in failed:
            digests[key] = self._any_folder[key].digest
        if tally(digests) == recorded:
            return True
        without_answer = [key for key in failed if self._any_folder[key].has_failed]
        if not without_answer:
            return False
        rebuilt = self._rebuild(without_answer, digests, recorded)
        self.rebuilt_rows += rebuilt.values()
        return bool(rebuilt)

    def _state(self, row: Row) -> _TrialState:
        has_sample = row["i"] in self._samples
        if "error" in row:
            return _TrialState(
                row["d"], has_failed=True, is_present=has_sample, is_complete=True
            )
        failed = row.get("failed", {})
        calls = [call for path, _, call in row["x"] if path not in failed]
        parts: list[Row] = [*row.get("output", ())]
        has_answer, is_complete = not calls, True
        for call in calls:
            line = self._journal.row(call)
            if line is not None:
                has_answer = True
                parts += line["r"].get("output", ())
                if "turn" in line["r"]:
                    parts.append(line["r"]["turn"])
            elif not self._journal.failures(call):
                # a failure may come from an attempt before the answer
                is_complete = False
        has_media = all(map(self._has_media, parts))
        return _TrialState(
            row["d"],
            has_failed=False,
            is_present=has_sample and has_media and has_answer,
            is_complete=is_complete,
        )

    def _has_media(self, part: Row) -> bool:
        """Returns True if the medium of a part is in a store, in full size.

        Media of data sets are not copied into stores.
        """
        medium = part.get("media")
        if medium is None or "path" in medium:
            return True
        for folder in self._folders:
            file = stored_path(folder / "media", medium["sha256"], medium["mime"])
            if file.is_file() and file.stat().st_size == medium["size"]:
                return True
        return False

    def _rebuild(
        self, keys: Sequence[int], row_digests: Mapping[int, str], recorded: Row
    ) -> dict[int, bytes]:
        """Returns the lines of trials, rebuilt from the journal.

        Returns no lines unless the digest over all trials equals ``recorded``.
        ``row_digests`` are the digests of the shard's rows.
        """
        answers = _AnswerKeys(self._journal, self._folders)
        places = {key >> 16 for key in keys}
        samples: dict[int, Sample] = {}
        for folder in self._folders:
            for place, row in sample_rows(folder, self._task.name):
                if place in places:
                    samples[place] = Sample.from_json(row, folder / "media")
        # Try all ways in which the requests may have been made. The right way depends
        # on the backend, which is not created here.
        task = self._task
        usual = TaskRun(
            task,
            scoring_plan(task, self._run / "media"),
            TaskRecords(self._run, task.name),
            spellings=tuple(task.config.get("placeholders") or ()),
        )
        ways = product((False, True), {task.blocks, False})
        for is_whole, blocks in ways:
            task_run = replace(usual, whole=is_whole, blocks=blocks)
            rows: dict[int, Row] = {}
            for key in keys:
                try:
                    sample = samples[key >> 16]
                    rows[key] = self._rebuild_row(key, sample, task_run, answers)
                except (Exception, SystemExit):
                    # A protocol may raise anything on answers to other requests. Then
                    # the trial is not rebuilt: a failure is kept, and a trial without a
                    # row is lost.
                    if key not in row_digests:
                        break
            digests = {key: row["d"] for key, row in rows.items()}
            if tally({**row_digests, **digests}) == recorded:
                return {key: sealed(to_line(row)) for key, row in rows.items()}
        return {}

    def _rebuild_row(
        self, key: int, sample: Sample, run: TaskRun, answers: _AnswerKeys
    ) -> Row:
        """Rebuilds the row of a trial.

        Raises LookupError for a missing answer, and the errors of the protocol.
        """
        repeat = key & 0xFFFF
        exchanges: list[Exchange] = []
        calls: list[str] = []

        def answer(call: Call, path: str) -> Reply:
            place = f"{self._task.name}/{sample.id}/{repeat}#{path}"
            name = answers.key_of(call, place, repeat)
            entry = self._journal.get(name)
            if entry is None or entry.request_digest != call.request.digest:
                raise LookupError(place)
            exchanges.append(
                Exchange(path, call.role, entry.request_digest, entry.response)
            )
            calls.append(name)
            return reply_to(call, entry.response, path, name)

        fault = error_of(sample)
        output = None
        if fault is None:
            output = run.recorded(run_program(run.program(sample), answer))
        left_out: list[PartKind] = []
        for exchange in exchanges:
            left_out.extend(exchange.response.left_out)
        trial = Trial(
            sample,
            repeat,
            tuple(exchanges),
            output,
            fault,
            tuple(dict.fromkeys(left_out)),
        )
        stores = [folder / "media" for folder in self._folders]
        row = trial_row(trial, calls, stores)
        return {"i": key >> 16, "n": repeat, "d": trial.digest, **row}


class _AnswerKeys:
    """The keys of a journal's answers, by the call's position and by its request."""

    def __init__(self, journal: Journal, folders: Sequence[Path]) -> None:
        self._by_place: dict[str, str] = {}
        self._by_content: dict[tuple[str, str, int], str] = {}
        for folder in folders:
            for segment in sorted((folder / "journal").glob("*.jsonl")):
                for _, row in read_rows(segment):
                    key = row["k"]
                    if key not in journal:
                        continue
                    self._by_place[row.get("by") or key.partition("@")[0]] = key
                    by_content = _BY_CONTENT.fullmatch(key)
                    if by_content is not None:
                        role, digest, repeat = by_content.groups()
                        self._by_content[role, digest, int(repeat)] = key

    def key_of(
        self,
        call: Call,
        place: str,
        repeat: int,
    ) -> str:
        """Returns the key of a call's answer. Raises LookupError if it is missing."""
        content = (call.role, call.request.digest, repeat)
        return self._by_content.get(content) or self._by_place[place]
