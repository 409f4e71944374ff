"""Answers as tests compare them: what every trial of a run folder came to, its media by
their bytes."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mmeval.interchange.contract import AnsweredRun, AnsweredTask, ScoredTrial
from mmeval.media.parts import Interleaved
from mmeval.metric.scoring.stored_trials import stored_trial
from mmeval.records.response import ErrorInfo
from mmeval.records.sample import Sample, user
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.results.stored_run import StoredRun, StoredTask

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


def answered_run(
    *answers: Interleaved | ErrorInfo | None,
    repeats: int = 1,
    file: str = "i_tiny",
    task: str = "tiny",
) -> AnsweredRun:
    """A run of one task: its answers to row 0, then those to row 1; None where it has
    none."""
    return AnsweredRun(
        "teller", (answered_task(answers, repeats=repeats, file=file, task=task),)
    )


def answered_task(
    answers: Sequence[Interleaved | ErrorInfo | None],
    *,
    repeats: int = 1,
    file: str = "i_tiny",
    task: str = "tiny",
) -> AnsweredTask:
    trials = [
        Trial(row_sample(at // repeats, file), at % repeats, error=answer)
        if isinstance(answer, ErrorInfo)
        else Trial(row_sample(at // repeats, file), at % repeats, output=answer)
        for at, answer in enumerate(answers)
        if answer is not None
    ]
    return task_of(task, trials)


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
