"""Answers for tests of import and export: of a run folder, of a run made by hand, of a
small row layout."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mmeval.errors import UsageError
from mmeval.interchange.contract import AnsweredTask, ScoredTrial
from mmeval.interchange.row_layout import (
    FindMedium,
    Row,
    RowLayout,
    files_named,
    rows_of_list,
)
from mmeval.media import Interleaved, Part
from mmeval.metric.scoring.stored_trials import stored_trial
from mmeval.records.response import ErrorInfo
from mmeval.records.sample import Sample, user
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.results.stored_run import StoredRun, StoredTask

# Answers as tests compare them: what every trial of a run folder came to, its media
# by their bytes.

Outcome = tuple[tuple[object, ...], ...] | ErrorInfo | None


def outcomes(folder: Path, task: str) -> dict[tuple[str, int], Outcome]:
    """By sample and repeat: each part with its words, placeholder and the bytes of its
    medium, or the failure."""
    run = StoredRun(folder)
    stored = StoredTask(task, {}, folder, None)
    found: dict[tuple[str, int], Outcome] = {}
    for told in stored.trials():
        assert told is not None
        trial = stored_trial(
            told.row, Sample.from_json(told.sample, folder / "media"), run.journal
        )
        found[trial.sample.id, trial.repeat] = (
            trial.error if trial.output is None else held(trial.output)
        )
    run.close()
    return found


def held(output: Interleaved) -> tuple[tuple[object, ...], ...]:
    return tuple(
        (
            part.kind,
            part.text,
            part.raw,
            part.label,
            None if part.media is None else part.media.read(),
        )
        for part in output.parts
    )


def row_sample(
    row: int, file: str = "i_tiny", instruction: str = "Draw a hare."
) -> Sample:
    """A sample as the loader of MMMG makes it."""
    return Sample(f"{file}/{row}", (user(instruction),), metadata={"file": file})


def task_of(
    name: str, trials: Iterable[Trial], scores: Iterable[Mapping[str, Score]] = ()
) -> AnsweredTask:
    """A task with these trials and the scores of each; without ``scores`` it has
    none."""
    known = [*trials]
    rows = [
        ScoredTrial(*one)
        for one in zip(known, scores or ({} for _ in known), strict=True)
    ]
    return AnsweredTask(name, lambda: iter(known), lambda: iter(rows))


# A small row layout: ``[{"id": "1", "media": ["b.png"]}]`` in ``a.json``.


def answer_in(row: Row, find: FindMedium) -> Interleaved:
    names = row["media"]
    if not isinstance(names, list):
        raise UsageError("'media' is not a list")
    return Interleaved(tuple(Part("image", media=find(name)) for name in names))


def row_of(
    sample: Sample, output: Interleaved | None, files: Mapping[str, str]
) -> dict[str, Any]:
    media = [] if output is None else output.media()
    return {"id": sample.id, "media": [files[medium.sha256] for medium in media]}


LAYOUT = RowLayout(
    files=partial(files_named, "a.json"),
    rows=rows_of_list,
    file_of=lambda _: "a.json",
    labels=frozenset(),
    answer=answer_in,
    row=row_of,
    sealed=lambda row: row["media"],
    media="media/{}_{}",
)
