"""Reads a run folder as JSON rows by trial, without loading plugins."""

from __future__ import annotations

import json
import logging
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from mmeval.errors import MissingDataError, UsageError
from mmeval.findings.finding import Finding
from mmeval.findings.render import terminal_lines
from mmeval.metric.scoring.score_set import FINISHED, PLAN, ROWS, lines_so_far
from mmeval.metric.scoring.verdict_log import FILE as VERDICTS
from mmeval.metric.scoring.votes import with_votes
from mmeval.results.corrected import with_corrected
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.paths import TrialFilter, every_trial, trial_key
from mmeval.store.run_folder import RunFolder, journal_findings
from mmeval.store.shard import shards_of
from mmeval.store.task_records import (
    TrialHead,
    first_calls,
    sample_heads,
    trial_head,
    trial_rows,
)
from mmeval.system.json_lines import (
    line_at,
    parsed_lines,
    read_rows,
    unsealed,
    unsealed_document,
)
from mmeval.system.wording import file_name, listed

log = logging.getLogger(__name__)

TaskRow = Mapping[str, Any]
"""The JSON values of a line. Any version of a plugin may have written them."""
NEVER_ASKED = frozenset({"unsupported", "bad_sample"})
"""The errors of trials that end before their first call."""


@dataclass(frozen=True)
class StoredTrial:
    """A trial in a run folder. ``scores`` is None if its last row is unscored;
    ``size`` is the size of its lines in bytes."""

    index: int
    repeat: int
    row: TaskRow
    sample: TaskRow
    scores: TaskRow | None
    verdicts: Sequence[TaskRow]
    size: int


@dataclass(frozen=True)
class StoredTask:
    """A task of a run: its resolved file, and the folder of its score set (None without
    scores)."""

    name: str
    config: TaskRow
    folder: Path
    score_set: Path | None

    @property
    def alias(self) -> str:
        return str(self.config.get("task_alias") or self.name)

    @property
    def breakdown(self) -> tuple[str, ...]:
        """The labels that break down the task's numbers."""
        names = self.config.get("breakdown") or ()
        return (names,) if isinstance(names, str) else tuple(map(str, names))

    @property
    def plan(self) -> TaskRow:
        """The definition of the score set; empty if it is missing or damaged."""
        file = None if self.score_set is None else self.score_set / PLAN
        if file is None or not file.is_file():
            return {}
        try:
            return unsealed_document(json.loads(file.read_bytes()))
        except (OSError, ValueError) as error:
            log.warning(
                "%s is damaged (%s): judges are compared by name only", file, error
            )
            return {}

    def score_rows(self, damaged: list[int] | None = None) -> Iterator[TaskRow]:
        """Yields the score rows of the task, including those of unfinished scoring.

        The numbers of damaged lines of a finished set are added to ``damaged``.
        """
        if self.score_set is not None:
            yield from _score_rows(self.score_set, damaged)

    def samples(self) -> Iterator[TaskRow]:
        """Yields the samples as recorded, in any order. A sample that changed appears
        twice."""
        return (row["sample"] for row in self.sample_rows())

    def sample_rows(self, damaged: list[int] | None = None) -> Iterator[TaskRow]:
        """Yields the samples, each with its index in the data set (``i``) and its
        digest (``d``). ``damaged`` receives the numbers of damaged lines."""
        file = self.folder / "samples" / f"{file_name(self.name)}.jsonl"
        return (row for _, row in read_rows(file, damaged))

    def sample_digests(
        self, damaged: list[int] | None = None
    ) -> Iterator[tuple[int, str]]:
        """Yields the index and the digest of each recorded sample. ``damaged`` receives
        the numbers of damaged lines."""
        for _, head in sample_heads(self.folder, self.name, damaged):
            yield head.sample_index, head.digest

    def first_calls(self) -> Iterator[tuple[int, int, str]]:
        """Yields the sample, the repeat and the first call's journal key of each
        recorded trial. If a trial has several rows, the last row is used."""
        return first_calls(self.folder, self.name)

    def trials(
        self, trial_filter: TrialFilter = every_trial
    ) -> Iterator[StoredTrial | None]:
        """Yields the trials that the filter keeps, in data set order, each from its
        last row. Then yields None for each damaged line."""
        scores = ScoreRows(self.score_set, trial_filter)
        verdicts = _Verdicts(self.score_set)
        damaged: list[int] = []
        for row, sample, size in trial_rows(
            self.folder, self.name, damaged, trial_filter
        ):
            key = trial_key(row["i"], row["n"])
            scored, scored_size = scores.of(key, row["d"])
            yield StoredTrial(
                index=row["i"],
                repeat=row["n"],
                row=row,
                sample=sample["sample"],
                scores=scored,
                verdicts=verdicts.of(key),
                size=size + scored_size,
            )
        verdicts.close()
        for _ in damaged:
            yield None


def run_record(folder: Path) -> dict[str, Any]:
    """Returns the content of ``run.json``. Raises MissingDataError if the folder
    contains no run, and UsageError if the file is damaged."""
    record = RunFolder.read_record(folder)
    if record:
        return record
    # the advice names runs in subfolders, if there are any
    below = runs_below(folder)
    if shards_of(folder):
        advice = f"merge its shards first: mmeval merge {folder}"
    elif below:
        advice = f"give one of the runs inside it: {listed(list(map(str, below)), 5)}"
    else:
        advice = "give the folder of a run, <output_path>/<model>/<run_id>"
    raise MissingDataError(f"{folder} does not contain a run; {advice}")


def journal_notes(run: StoredRun) -> Iterator[str]:
    """Yields one text if a run's journal contains damaged lines, else nothing."""
    lines = terminal_lines(journal_findings(run.journal, run.record))
    if lines:
        yield "\n".join([f"damaged lines of the journal of {run.folder}:", *lines])


class StoredRun:
    """A run folder that is open for reading. ``results`` is its newest results file, or
    empty.

    Raises MissingDataError if the folder contains no run, and UsageError if the run is
    damaged.
    """

    def __init__(self, folder: Path, results: Path | None = None) -> None:
        self.folder = folder
        self.record = run_record(folder)
        self.results_file = results or newest_results(folder, self.record)
        self.results: TaskRow = {}
        if self.results_file is not None:
            self.results = with_corrected(read_results(self.results_file), folder)

    @property
    def model(self) -> str:
        return str(self.record.get("options", {}).get("model_name") or "model")

    @property
    def name(self) -> str:
        """The model and the name of the run, for headings."""
        return f"{self.model} ({self.folder.resolve().name})"

    @property
    def ours(self) -> TaskRow:
        """The object ``mmeval`` of the results file, with everything that does not fit
        the layout of lm-evaluation-harness."""
        ours: TaskRow = self.results.get("mmeval", {})
        return ours

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of the results file."""
        return tuple(map(Finding.from_json, self.ours.get("findings", ())))

    @cached_property
    def journal(self) -> Journal:
        return Journal(
            self.folder / "journal",
            MediaStore(self.folder / "media"),
            writable=False,
            counts_spending=False,
        )

    @cached_property
    def tasks(self) -> tuple[StoredTask, ...]:
        """The tasks of the newest results file. Without such a file, all tasks of the
        run."""
        configs: Mapping[str, TaskRow] = self.record.get("tasks", {})
        tasks = []
        for name in self.ours.get("protocols", configs):
            sets = self.folder / "scores" / file_name(name)
            score_set: Path | None = None
            if self.results:
                set_name = str(self.ours.get("score_sets", {}).get(name, ""))
                if set_name and set_name == file_name(set_name):
                    score_set = sets / set_name
            else:
                # without results, the newest score set is used
                score_set = max(
                    sets.glob("*/"),
                    key=lambda entry: entry.stat().st_mtime,
                    default=None,
                )
            config = configs.get(name, {})
            tasks.append(StoredTask(name, config, self.folder, score_set))
        return tuple(tasks)

    @property
    def other_tasks(self) -> list[str]:
        """The names of further tasks in the folder, from earlier commands."""
        shown = {task.name for task in self.tasks}
        return [name for name in self.record.get("tasks", {}) if name not in shown]

    def close(self) -> None:
        if "journal" in self.__dict__:
            self.__dict__.pop("journal").close()


def newest_results(folder: Path, record: TaskRow) -> Path | None:
    """Returns the newest results file of a run, in its folder or at ``--output_path
    FILE.json``, or None without a results file."""
    files = list(folder.glob("results_*.json"))
    named = Path(str(record.get("settings", {}).get("output_path", "")))
    if not files and named.suffix == ".json":
        files = list(named.parent.glob(f"{named.stem}_*.json"))
    return max(files, key=lambda file: file.name, default=None)


def read_results(file: Path) -> TaskRow:
    """Returns the content of a results file. Raises UsageError for any other file."""
    try:
        document: TaskRow = unsealed_document(json.loads(file.read_bytes()))
        if isinstance(document["mmeval"]["results"], list):
            return document
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass
    raise UsageError(
        f"{file}: damaged, or not a results file of mmeval; remove it, then run "
        f"mmeval score {file.parent}"
    )


def run_folder(folder: Path) -> Path:
    """Returns the given folder if it is a run, or else the only run inside it."""
    folder = folder.expanduser()
    if (folder / "run.json").exists():
        return folder
    below = runs_below(folder)
    if len(below) != 1 or shards_of(folder):
        return folder  # opening it raises an error that names the runs inside it
    log.info("%s: using the run %s", folder, below[0])
    return below[0]


def runs_below(folder: Path) -> list[Path]:
    files = [*folder.glob("*/run.json"), *folder.glob("*/*/run.json")]
    return sorted(file.parent for file in files)


class ScoreRows:
    """Score rows in data set order, read together with the trials that the filter
    keeps."""

    def __init__(
        self, folder: Path | None, trial_filter: TrialFilter = every_trial
    ) -> None:
        self._rows: Iterator[tuple[int, TaskRow]] = iter(())
        if folder is not None:
            self._rows = _sized_rows(folder, trial_filter)
        self._next = next(self._rows, None)

    def of(self, key: int, digest: str) -> tuple[TaskRow | None, int]:
        """Returns the row of a trial and its size in bytes. The row is None if the
        trial has no row, or if its row belongs to another answer. Trials must be
        requested in data set order."""
        while self._next is not None:
            size, row = self._next
            row_key = trial_key(row["i"], row["n"])
            if row_key > key:
                break
            self._next = next(self._rows, None)
            if row_key == key:
                return (row, size) if row.get("d") == digest else (None, 0)
        return None, 0


def _score_rows(folder: Path, damaged: list[int] | None = None) -> Iterator[TaskRow]:
    """Yields the score rows of a set, including rows of unfinished scoring."""
    if (folder / ROWS).is_file():
        return with_votes(map(unsealed, lines_so_far(folder)))
    return with_votes(row for _, row in read_rows(folder / FINISHED, damaged))


def _sized_rows(
    folder: Path, trial_filter: TrialFilter
) -> Iterator[tuple[int, TaskRow]]:
    """Yields the size in bytes and the row of each score of the samples that have a
    trial that the filter keeps. Votes need all answers to a sample. Other lines are not
    decoded."""
    sizes: deque[int] = deque()

    def decoded() -> Iterator[dict[str, Any]]:
        for _, answers in groupby(_score_lines(folder), key=_sample_index):
            of_sample = list(answers)
            if any(trial_filter(*head) for head, _ in of_sample):
                for _, line in of_sample:
                    sizes.append(len(line))
                    yield unsealed(line)

    for row in with_votes(decoded()):
        yield sizes.popleft(), row


def _score_lines(folder: Path) -> Iterator[tuple[TrialHead, bytes]]:
    if (folder / ROWS).is_file():
        for line in lines_so_far(folder):
            yield trial_head(line), line
    else:
        for _, line, head in parsed_lines(folder / FINISHED, trial_head):
            yield head, line


def _sample_index(score_line: tuple[TrialHead, bytes]) -> int:
    head, _ = score_line
    return head.sample_index


class _Verdicts:
    """The verdicts of a score set by trial. Only their offsets are kept in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._keys, self._offsets = array("q"), array("q")
        self._position = 0
        self._file = None
        if folder is not None:
            for offset, row in read_rows(folder / VERDICTS):
                self._keys.append(trial_key(row["i"], row["n"]))
                self._offsets.append(offset)
            if self._keys:
                self._file = (folder / VERDICTS).open("rb")
        self._order = sorted(range(len(self._keys)), key=self._keys.__getitem__)

    def of(self, key: int) -> list[TaskRow]:
        """Returns the verdict rows of a trial: for each call, the last row. Trials must
        be requested in data set order."""
        order, keys = self._order, self._keys
        while self._position < len(order) and keys[order[self._position]] < key:
            self._position += 1
        rows: dict[tuple[str, str], TaskRow] = {}
        while self._position < len(order) and keys[order[self._position]] == key:
            assert self._file is not None
            row = unsealed(line_at(self._file, self._offsets[order[self._position]]))
            rows[str(row.get("metric")), str(row.get("path"))] = row
            self._position += 1
        return list(rows.values())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def counted_by(asked: Mapping[str, Any] | None) -> TrialFilter:
    """Returns the filter of the trials that the numbers include. The field ``asked`` of
    a task in a results file defines the filter."""
    if asked is None:
        return every_trial
    repeats, samples = asked["repeats"], asked["samples"]
    if samples is None:
        return lambda _, repeat: repeat < repeats
    starts = [first for first, _ in samples]

    def is_counted(index: int, repeat: int) -> bool:
        position = bisect_right(starts, index) - 1
        return repeat < repeats and position >= 0 and index <= samples[position][1]

    return is_counted
