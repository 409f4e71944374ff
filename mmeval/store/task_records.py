"""The samples and scores of one task in a run folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from mmeval.records.sample import Sample
from mmeval.store.paths import trial_key
from mmeval.system.json_lines import from_line, open_append, read_rows, to_line, writing
from mmeval.wording import file_name


class TaskRecords:
    """The samples that were asked and the trials that were made, of one task. Appended, buffered: both can be made
    again from the task and the journal, so a crash costs nothing."""

    def __init__(self, folder: Path, task: str) -> None:
        name = f"{file_name(task)}.jsonl"
        self._sample_file, self._trial_file = folder / "samples" / name, folder / "trials" / name
        self._samples: BinaryIO | None = None
        self._trials: BinaryIO | None = None
        # A bit for each sample, where a set of numbers takes a hundred bytes.
        self._written = bytearray()
        self._known_samples = {row["i"]: row["d"] for _, row in read_rows(self._sample_file)}
        self._known_trials = {trial_key(row["i"], row["n"]): row["d"] for _, row in read_rows(self._trial_file)}

    def keep_sample(self, index: int, sample: Sample, line: bytes) -> None:
        if self._is_written(index) or (self._known_samples and self._known_samples.get(index) == sample.digest):
            return
        self._written[index >> 3] |= 1 << (index & 7)
        if self._samples is None:
            self._samples = open_append(self._sample_file)
        with writing(self._sample_file):
            self._samples.write(b'{"i":%d,"d":"%s","sample":%s}\n' % (index, sample.digest.encode(), line))

    def _is_written(self, index: int) -> bool:
        place = index >> 3
        if place >= len(self._written):
            self._written.extend(bytes(place + 1 - len(self._written)))
        return bool(self._written[place] >> (index & 7) & 1)

    def keep_trial(self, index: int, repeat: int, trial_digest: str, row: Mapping[str, Any]) -> None:
        if self._known_trials and self._known_trials.get(trial_key(index, repeat)) == trial_digest:
            return
        if self._trials is None:
            self._trials = open_append(self._trial_file)
        with writing(self._trial_file):
            self._trials.write(to_line({"i": index, "n": repeat, "d": trial_digest, **row}) + b"\n")

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
        """Sample, repeat and digest of each recorded trial that has an answer."""
        latest = {trial_key(row["i"], row["n"]): row for _, row in read_rows(self._trial_file)}
        for row in latest.values():
            if "error" not in row:
                yield row["i"], row["n"], row["d"]

    def trials(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Every trial (its latest form) with its sample's row, in the order of the data set.

        A trial whose sample a killed process did not get to write is left out: the run itself makes both again.
        """
        self.flush()
        samples = {row["i"]: offset for offset, row in read_rows(self._sample_file)}
        latest = {trial_key(row["i"], row["n"]): offset for offset, row in read_rows(self._trial_file)}
        if not latest or not samples:
            return
        with self._sample_file.open("rb") as sample_file, self._trial_file.open("rb") as trial_file:
            for _, offset in sorted(latest.items()):
                trial_file.seek(offset)
                trial = from_line(trial_file.readline())
                if trial["i"] not in samples:
                    continue
                sample_file.seek(samples[trial["i"]])
                yield trial, from_line(sample_file.readline())["sample"]
