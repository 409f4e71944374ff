"""A run folder for reading: JSON rows by trial, no plugins, mostly no records."""

from __future__ import annotations

import json
import logging
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mmeval.errors import MissingDataError, UsageError
from mmeval.findings.finding import Finding
from mmeval.findings.render import terminal_lines
from mmeval.metric.scoring.score_set import FINISHED, PLAN, ROWS, lines_so_far
from mmeval.metric.scoring.verdict_log import FILE as VERDICTS
from mmeval.metric.scoring.votes import with_votes
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.paths import TrialFilter, every_trial, trial_key
from mmeval.store.run_folder import RunFolder, journal_findings
from mmeval.store.shard import shards_of
from mmeval.store.task_records import first_calls, trial_rows
from mmeval.system.json_lines import line_at, read_rows, unsealed, unsealed_document
from mmeval.system.wording import file_name, listed

log = logging.getLogger(__name__)

TaskRow = Mapping[str, Any]
"""JSON values of a line: what a plugin of any version has written there."""


@dataclass(frozen=True)
class StoredTrial:
    """A trial in a run folder; ``scores`` is None where its latest form has none.
    ``size`` is how many bytes its lines take."""

    index: int
    repeat: int
    row: TaskRow
    sample: TaskRow
    scores: TaskRow | None
    verdicts: Sequence[TaskRow]
    size: int


@dataclass(frozen=True)
class StoredTask:
    """A task of a run: its resolved file and where its score rows lie (None:
    nowhere)."""

    name: str
    config: TaskRow
    folder: Path
    score_set: Path | None

    @property
    def alias(self) -> str:
        return str(self.config.get("task_alias") or self.name)

    @property
    def breakdown(self) -> tuple[str, ...]:
        """The labels by which the task's numbers are broken down."""
        names = self.config.get("breakdown") or ()
        return (names,) if isinstance(names, str) else tuple(map(str, names))

    @property
    def plan(self) -> TaskRow:
        """The definition of the score set; empty where there is none, or a damaged
        one."""
        file = None if self.score_set is None else self.score_set / PLAN
        if file is None or not file.is_file():
            return {}
        try:
            return unsealed_document(json.loads(file.read_bytes()))
        except (OSError, ValueError) as error:
            log.warning("%s is damaged (%s): a judge is known by name", file, error)
            return {}

    def score_rows(self, damaged: list[int] | None = None) -> Iterator[TaskRow]:
        """Each trial's score rows, also of unfinished scoring; none if nothing is
        scored. ``damaged`` gets the numbers of damaged lines of a finished set."""
        if self.score_set is not None:
            yield from (row for _, row in _score_rows(self.score_set, damaged))

    def samples(self) -> Iterator[TaskRow]:
        """The samples as recorded, in no order; one that changed meanwhile appears
        again."""
        return (row["sample"] for row in self.sample_rows())

    def sample_rows(self, damaged: list[int] | None = None) -> Iterator[TaskRow]:
        """The samples, each with its place in the data set (``i``) and its digest
        (``d``). ``damaged`` gets the numbers of damaged lines."""
        file = self.folder / "samples" / f"{file_name(self.name)}.jsonl"
        return (row for _, row in read_rows(file, damaged))

    def first_calls(self) -> Iterator[tuple[int, int, str]]:
        """Sample, repeat and the key in the journal of the first call of each recorded
        trial; later ones of a trial stand for it."""
        return first_calls(self.folder, self.name)

    def trials(
        self, trial_filter: TrialFilter = every_trial
    ) -> Iterator[StoredTrial | None]:
        """The latest form of each trial that the filter keeps, in data set order;
        then None for each damaged line."""
        scores, verdicts = ScoreRows(self.score_set), _Verdicts(self.score_set)
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
    """``run.json``. Raises MissingDataError where there is no run, UsageError for one
    that is damaged."""
    record = RunFolder.read_record(folder)
    if record:
        return record
    # what to give instead: the runs that lie below, if any
    below = runs_below(folder)
    if shards_of(folder):
        near = f"its shards are not merged yet: mmeval merge {folder}"
    elif below:
        near = f"give one of the runs below it: {listed(list(map(str, below)), 5)}"
    else:
        near = "give the folder of a run, <output_path>/<model>/<run_id>"
    raise MissingDataError(f"{folder}: there is no run; {near}")


def journal_notes(run: StoredRun) -> Iterator[str]:
    """A text about what of a run's journal could not be read; none where all could."""
    lines = terminal_lines(journal_findings(run.journal, run.record))
    if lines:
        yield "\n".join([f"of the journal of {run.folder}:", *lines])


class StoredRun:
    """A run folder for reading; ``results`` is its newest results file, or empty.
    Raises MissingDataError where there is no run, UsageError for one that is
    damaged."""

    def __init__(self, folder: Path, results: Path | None = None) -> None:
        self.folder = folder
        self.record = run_record(folder)
        self.results_file = results or newest_results(folder, self.record)
        self.results: TaskRow = {}
        if self.results_file is not None:
            self.results = read_results(self.results_file)

    @property
    def model(self) -> str:
        return str(self.record.get("options", {}).get("model_name") or "model")

    @property
    def name(self) -> str:
        """The model and the name of the run, as a heading has them."""
        return f"{self.model} ({self.folder.resolve().name})"

    @property
    def ours(self) -> TaskRow:
        """What the layout of lm-evaluation-harness has no place for in the results
        file."""
        found: TaskRow = self.results.get("mmeval", {})
        return found

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Those of the results file."""
        return tuple(map(Finding.from_json, self.ours.get("findings", ())))

    @cached_property
    def journal(self) -> Journal:
        return Journal(
            self.folder / "journal", MediaStore(self.folder / "media"), writable=False
        )

    @cached_property
    def tasks(self) -> tuple[StoredTask, ...]:
        """The tasks of the newest results file; of a run without one, all that were
        asked."""
        configs: Mapping[str, TaskRow] = self.record.get("tasks", {})
        tasks = []
        for name in self.ours.get("protocols", configs):
            sets = self.folder / "scores" / file_name(name)
            score_set: Path | None = None
            if self.results:
                own = str(self.ours.get("score_sets", {}).get(name, ""))
                if own and own == file_name(own):
                    score_set = sets / own
            else:
                # the set that was begun last
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
        """What the folder holds besides: earlier commands asked for it."""
        shown = {task.name for task in self.tasks}
        return [name for name in self.record.get("tasks", {}) if name not in shown]

    def close(self) -> None:
        if "journal" in self.__dict__:
            self.__dict__.pop("journal").close()


def newest_results(folder: Path, record: TaskRow) -> Path | None:
    """The newest results file of a run: in its folder or ``--output_path
    FILE.json``."""
    files = list(folder.glob("results_*.json"))
    named = Path(str(record.get("settings", {}).get("output_path", "")))
    if not files and named.suffix == ".json":
        files = list(named.parent.glob(f"{named.stem}_*.json"))
    return max(files, key=lambda file: file.name, default=None)


def read_results(file: Path) -> TaskRow:
    """The content of a results file. Raises UsageError for what is none."""
    try:
        document: TaskRow = unsealed_document(json.loads(file.read_bytes()))
        if isinstance(document["mmeval"]["results"], list):
            return document
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass
    raise UsageError(
        f"{file}: is damaged, or no results file of mmeval; remove it, then run "
        f"mmeval score {file.parent}"
    )


def run_folder(folder: Path) -> Path:
    """The folder of a run: as it is given, or the only one below it."""
    folder = folder.expanduser()
    if (folder / "run.json").exists():
        return folder
    below = runs_below(folder)
    if len(below) != 1 or shards_of(folder):
        return folder  # opening it raises the error that names them
    log.info("the run below %s is %s", folder, below[0])
    return below[0]


def runs_below(folder: Path) -> list[Path]:
    files = [*folder.glob("*/run.json"), *folder.glob("*/*/run.json")]
    return sorted(file.parent for file in files)


class ScoreRows:
    """Score rows in the order of the data set, read alongside the trials."""

    def __init__(self, folder: Path | None) -> None:
        self._rows: Iterator[tuple[int, TaskRow]] = iter(())
        if folder is not None:
            self._rows = _score_rows(folder)
        self._next = next(self._rows, None)

    def of(self, key: int, digest: str) -> tuple[TaskRow | None, int]:
        """A trial's row and its size in bytes; None without one, or for another answer.
        Trials must be asked for in their order."""
        while self._next is not None:
            offset, row = self._next
            own_key = trial_key(row["i"], row["n"])
            if own_key > key:
                break
            self._next = next(self._rows, None)
            if own_key == key:
                size = 1 << 30 if self._next is None else self._next[0] - offset
                return (row, size) if row.get("d") == digest else (None, 0)
        return None, 0


def _score_rows(
    folder: Path, damaged: list[int] | None = None
) -> Iterator[tuple[int, TaskRow]]:
    """A set's score rows, each with the place of its line, also of unfinished
    scoring."""
    places: deque[int] = deque()
    for row in with_votes(_placed_rows(folder, places, damaged)):
        yield places.popleft(), row


def _placed_rows(
    folder: Path, places: deque[int], damaged: list[int] | None = None
) -> Iterator[dict[str, Any]]:
    """A set's score rows; the place of each line joins ``places``."""
    if not (folder / ROWS).is_file():
        for place, row in read_rows(folder / FINISHED, damaged):
            places.append(place)
            yield row
        return
    offset = 0
    for line in lines_so_far(folder):
        places.append(offset)
        yield unsealed(line)
        offset += len(line)


class _Verdicts:
    """The verdicts of a score set by trial. Only their places are held."""

    def __init__(self, folder: Path | None) -> None:
        self._keys, self._offsets = array("q"), array("q")
        self._at = 0
        self._file = None
        if folder is not None:
            for offset, row in read_rows(folder / VERDICTS):
                self._keys.append(trial_key(row["i"], row["n"]))
                self._offsets.append(offset)
            if self._keys:
                self._file = (folder / VERDICTS).open("rb")
        self._order = sorted(range(len(self._keys)), key=self._keys.__getitem__)

    def of(self, key: int) -> list[TaskRow]:
        """A trial's rows, the later ones if judged again. Ask for trials in their
        order."""
        order, keys = self._order, self._keys
        while self._at < len(order) and keys[order[self._at]] < key:
            self._at += 1
        found: dict[tuple[str, str], TaskRow] = {}
        while self._at < len(order) and keys[order[self._at]] == key:
            assert self._file is not None
            row = unsealed(line_at(self._file, self._offsets[order[self._at]]))
            found[str(row.get("metric")), str(row.get("path"))] = row
            self._at += 1
        return list(found.values())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def counted_by(asked: Mapping[str, Any] | None) -> TrialFilter:
    """The trials that the numbers count, by ``asked`` of their task in a results
    file."""
    if asked is None:
        return every_trial
    repeats, samples = asked["repeats"], asked["samples"]
    if samples is None:
        return lambda _, repeat: repeat < repeats
    starts = [first for first, _ in samples]

    def is_counted(index: int, repeat: int) -> bool:
        at = bisect_right(starts, index) - 1
        return repeat < repeats and at >= 0 and index <= samples[at][1]

    return is_counted
