"""The tasks that come with the package, built on their bundled samples, and what a
bound backend scores on them."""

import pytest

from mmeval.backend.contract import SampleBackend
from mmeval.backend.create import create_backend
from mmeval.dataset.bad_sample import rows_of
from mmeval.metric.apply import score_one
from mmeval.program.calls import Call, Reply, Role
from mmeval.program.protocols import Ask
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from mmeval.task.selection import select
from mmeval.task.task import Task, TaskOverrides


def shipped(name: str) -> Task:
    return select([name], overrides=TaskOverrides(data="bundled")).tasks[0]


def selected_samples(task: Task) -> list[Sample]:
    return [sample for sample in rows_of(task.dataset()) if task.selected(sample)]


def answered_by(backend_name: str, task: Task, sample: Sample) -> Trial:
    """The trial of a sample whose one call the backend answers."""
    backend = create_backend(backend_name, {})
    assert isinstance(backend, SampleBackend)
    program = task.protocol(
        Ask(
            sample, task.prompt(sample), task.wanted(sample), task.params, Role("model")
        )
    )
    call = next(program)
    assert isinstance(call, Call)
    with pytest.raises(StopIteration) as stop:
        program.send(Reply(backend.answer(task.name, sample, 0, call.request)))
    return Trial(sample, output=stop.value.value)


def scores_of(backend_name: str, task: Task, metric: str) -> list[float | None]:
    """One value a sample."""
    bound = next(entry.bound for entry in task.metrics if entry.bound.name == metric)
    trials = [
        answered_by(backend_name, task, sample) for sample in selected_samples(task)
    ]
    return [
        score.value for trial in trials for score in score_one(bound, trial).values()
    ]
