"""The trials of a finished run, read back from its folder one sample at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from mmeval.records.sample import Sample
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.report.samples_file import SampleRow
from mmeval.scoring.stored_trials import stored_trial
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.paths import trial_key
from mmeval.store.task_records import TaskRecords
from mmeval.system.json_lines import read_rows
from mmeval.task.task import Task

Wanted = Callable[[int, int], bool]
"""Whether the sample of an index, in a repeat, belongs to the run: a folder may hold more."""


def sample_rows(folder: Path, task: Task, score_set: Path | None, wanted: Wanted) -> Iterator[SampleRow]:
    """The samples of a task with their trials and scores, in the order of the data set.

    ``score_set`` is the folder of the task's scores, None when nothing was scored.
    """
    journal = Journal(folder / "journal", MediaStore(folder / "media"), writable=False)
    records = TaskRecords(folder, task.name)
    try:
        chosen = (pair for pair in records.trials() if wanted(pair[0]["i"], pair[0]["n"]))
        scores = _Scores(score_set)
        for index, pairs in groupby(chosen, key=lambda pair: int(pair[0]["i"])):
            yield _sample_row(index, list(pairs), task, journal, scores)
    finally:
        records.close()
        journal.close()


def _sample_row(
    index: int,
    pairs: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]],
    task: Task,
    journal: Journal,
    scores: _Scores,
) -> SampleRow:
    trials: list[Trial] = []
    found: list[Mapping[str, Score]] = []
    for row, sample_row in pairs:
        sample = trials[0].sample if trials else Sample.from_json(sample_row, journal.media.root)
        trials.append(stored_trial(row, sample, journal))
        found.append(scores.of(index, row["n"]))
    sample = trials[0].sample
    prompt = () if sample.fault else task.prompt(sample)  # nothing was asked, and there may be nothing to ask with
    return SampleRow(index, sample, prompt, task.params, trials, found)


class _Scores:
    """Score rows in the order of the data set, read alongside the trials."""

    def __init__(self, folder: Path | None) -> None:
        self._rows = iter(()) if folder is None else (row for _, row in read_rows(folder / "scores.jsonl"))
        self._next: Mapping[str, Any] | None = None

    def of(self, index: int, repeat: int) -> dict[str, Score]:
        """The scores of a trial; empty when it has none. Trials must be asked for in their order."""
        wanted = trial_key(index, repeat)
        row = self._next or next(self._rows, None)
        while row is not None and trial_key(row["i"], row["n"]) < wanted:
            row = next(self._rows, None)
        self._next = row
        if row is None or trial_key(row["i"], row["n"]) != wanted:
            return {}
        return {name: Score.from_json(score) for name, score in row["scores"].items()}
