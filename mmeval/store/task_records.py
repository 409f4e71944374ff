"""The samples and trials of one task in a run folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from mmeval.records.sample import Sample
from mmeval.store.paths import TrialFilter, every_trial, trial_key
from mmeval.system.json_lines import (
    check_seal,
    drop_damaged,
    line_at,
    open_append,
    parsed_lines,
    read_rows,
    sealed,
    to_line,
    unsealed,
    writing,
)
from mmeval.system.number_set import NumberSet
from mmeval.system.wording import file_name

_FIRST_CALL = re.compile(
    rb'\{"i":(\d+),"n":(\d+),"d":"[0-9a-f]*","x":\[\["[^"]*","[^"]*","([^"\\]*)"'
)
"""Matches the start of a trial's line in the form that ``keep_trial`` writes."""
_SAMPLE_HEAD = re.compile(rb'\{"i":(\d+),"d":"([0-9a-f]*)"')
"""Matches the start of a sample's line in the form that ``keep_sample`` writes."""
_TRIAL_HEAD = re.compile(rb'\{"i":(\d+),"n":(\d+),')
"""Matches the start of a line about a trial: of its record, or of its scores."""


class TaskRecords:
    """The JSONL files with the samples and the trials of one task.

    Writes are buffered and damaged lines are dropped, since both files can be recreated
    from the task and the journal.
    """

    def __init__(self, folder: Path, task: str) -> None:
        self._folder, self._task = folder, task
        self._sample_file, self.trial_file = _files(folder, task)
        self._samples: BinaryIO | None = None
        self._trials: BinaryIO | None = None
        self._written = NumberSet()
        drop_damaged(self._sample_file)
        drop_damaged(self.trial_file)
        self._known_samples = {
            row["i"]: row["d"] for _, row in read_rows(self._sample_file)
        }
        self._known_trials = {
            trial_key(row["i"], row["n"]): row["d"]
            for _, row in read_rows(self.trial_file)
        }

    def keep_sample(
        self,
        index: int,
        sample: Sample,
        line: bytes,
    ) -> None:
        if index in self._written or (
            self._known_samples and self._known_samples.get(index) == sample.digest
        ):
            return
        self._written.add(index)
        if self._samples is None:
            self._samples = open_append(self._sample_file)
        with writing(self._sample_file):
            self._samples.write(
                sealed(
                    b'{"i":%d,"d":"%s","sample":%s}'
                    % (index, sample.digest.encode(), line)
                )
            )

    def keep_trial(
        self, index: int, repeat: int, trial_digest: str, row: Mapping[str, Any]
    ) -> None:
        recorded_digest = None
        if self._known_trials:
            recorded_digest = self._known_trials.get(trial_key(index, repeat))
        # the digest of a failure does not depend on its steps
        if recorded_digest == trial_digest and "failed" not in row:
            return
        if self._trials is None:
            self._trials = open_append(self.trial_file)
        with writing(self.trial_file):
            self._trials.write(
                sealed(to_line({"i": index, "n": repeat, "d": trial_digest, **row}))
            )

    def recorded_digest(self, index: int, repeat: int) -> str | None:
        """Returns the digest of a trial that an earlier process recorded, or None."""
        return self._known_trials.get(trial_key(index, repeat))

    def has_sample(self, index: int, sample: Sample) -> bool:
        """Returns True if an earlier process recorded exactly this sample."""
        return self._known_samples.get(index) == sample.digest

    def flush(self) -> None:
        for file in (self._samples, self._trials):
            if file is not None:
                with writing(file.name):
                    file.flush()

    def close(self) -> None:
        files, self._samples, self._trials = (self._samples, self._trials), None, None
        for file in files:
            if file is not None:
                with writing(file.name):
                    file.close()

    def answered(self) -> Iterator[tuple[int, int, str]]:
        """Yields sample, repeat and digest of each recorded and answered trial."""
        latest = {
            trial_key(row["i"], row["n"]): row for _, row in read_rows(self.trial_file)
        }
        for row in latest.values():
            if "error" not in row:
                yield row["i"], row["n"], row["d"]

    def trials(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Yields the row of each trial with its sample; see :func:`trial_rows`."""
        self.flush()
        for rows in trial_rows(self._folder, self._task):
            yield rows.trial, rows.sample["sample"]


def recorded_trials(folder: Path, task: str) -> Iterator[dict[str, Any]]:
    """Yields the rows of a task's trials in the order of writing.

    If a trial has several rows, the last one is used.
    """
    return (row for _, row in read_rows(_files(folder, task)[1]))


def first_calls(folder: Path, task: str) -> Iterator[tuple[int, int, str]]:
    """Yields sample, repeat and the first call's journal key of each recorded trial.

    If a trial has several rows, the last one is used. Lines are matched and not parsed,
    since parsing would take most of the time.
    """
    trial_file = _files(folder, task)[1]
    if not trial_file.is_file():
        return
    with trial_file.open("rb") as lines:
        for line in lines:
            if match := _FIRST_CALL.match(line):
                yield int(match[1]), int(match[2]), match[3].decode()


def sample_rows(folder: Path, task: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the recorded samples of a task, each with its index in the data set."""
    return ((row["i"], row["sample"]) for _, row in read_rows(_files(folder, task)[0]))


def tally(digests: Mapping[int, str]) -> dict[str, Any]:
    """Returns the number of trials and a digest over all of them.

    ``digests`` maps the keys of trials to their digests.
    """
    lines = "".join(f"{key} {digests[key]}\n" for key in sorted(digests))
    whole = blake2b(lines.encode(), digest_size=16).hexdigest()
    return {"count": len(digests), "digest": whole}


class SampleHead(NamedTuple):
    """The index of a recorded sample in the data set, and its digest."""

    sample_index: int
    digest: str


class TrialHead(NamedTuple):
    """The sample's index and the repeat of a line about a trial."""

    sample_index: int
    repeat: int


def sample_head(line: bytes) -> SampleHead:
    """Returns the head of a sample's sealed line. The line is matched and not decoded,
    because decoding takes most of the time of reading. Raises ValueError if the line is
    damaged."""
    check_seal(line)
    match = _SAMPLE_HEAD.match(line)
    if match is None:
        row = unsealed(line)
        return SampleHead(row["i"], row["d"])
    return SampleHead(int(match[1]), match[2].decode())


def trial_head(line: bytes) -> TrialHead:
    """Returns the head of a sealed line about a trial, which is not decoded. Raises
    ValueError if the line is damaged."""
    check_seal(line)
    match = _TRIAL_HEAD.match(line)
    if match is None:
        row = unsealed(line)
        return TrialHead(row["i"], row["n"])
    return TrialHead(int(match[1]), int(match[2]))


def sample_heads(
    folder: Path, task: str, damaged: list[int] | None = None
) -> Iterator[tuple[int, SampleHead]]:
    """Yields the offset and the head of each recorded sample of a task. ``damaged``
    receives the numbers of damaged lines."""
    lines = parsed_lines(_files(folder, task)[0], sample_head, damaged)
    return ((offset, head) for offset, _, head in lines)


class TrialRows(NamedTuple):
    """The last row of a trial and the row of its sample.

    ``size`` is their total size in bytes.
    """

    trial: dict[str, Any]
    sample: dict[str, Any]
    size: int


def trial_rows(
    folder: Path,
    task: str,
    damaged: list[int] | None = None,
    trial_filter: TrialFilter = every_trial,
) -> Iterator[TrialRows]:
    """Yields the recorded trials of a task in data set order, read one at a time.

    A trial whose sample is missing after a crash is left out; the run recreates both.
    ``damaged`` receives the numbers of damaged lines, first those of the samples file.
    Only trials that ``trial_filter`` keeps are read in full.
    """
    sample_file, trial_file = _files(folder, task)
    samples: dict[int, int] = {}
    for offset, head in sample_heads(folder, task, damaged):
        samples[head.sample_index] = offset
    latest: dict[int, int] = {}
    for offset, _, (index, repeat) in parsed_lines(trial_file, trial_head, damaged):
        if trial_filter(index, repeat):
            latest[trial_key(index, repeat)] = offset
    if not latest or not samples:
        return
    with sample_file.open("rb") as sample_lines, trial_file.open("rb") as trial_lines:
        for _, offset in sorted(latest.items()):
            line = line_at(trial_lines, offset)
            trial = unsealed(line)
            if trial["i"] in samples:
                sample = line_at(sample_lines, samples[trial["i"]])
                yield TrialRows(trial, unsealed(sample), len(line) + len(sample))


def _files(folder: Path, task: str) -> tuple[Path, Path]:
    name = f"{file_name(task)}.jsonl"
    return folder / "samples" / name, folder / "trials" / name
