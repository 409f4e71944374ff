"""What changed between runs besides their numbers: what is the same, and what is not,
as was and is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.comparison.run_pair import ComparedRun
from mmeval.records.digests import digest
from mmeval.report.numbers import NumberRow
from mmeval.results.compare import differences, judges_of, metric_of
from mmeval.results.groups import tasks_inside
from mmeval.wording import printable

SHOWN = 60
"""Characters of a value that are shown."""


@dataclass(frozen=True)
class Change:
    """One thing that is not the same in ``run`` as in the reference; both values in
    short words."""

    what: str
    run: str
    before: str
    now: str


@dataclass(frozen=True)
class Changes:
    same: tuple[str, ...]
    changed: tuple[Change, ...]


def changes_between(runs: Sequence[ComparedRun], rows: Sequence[NumberRow]) -> Changes:
    """What differs from the first run, over the tasks behind the compared numbers."""
    inside = {task for row in rows for task in tasks_inside(row.task, runs[0].members)}
    changed: list[Change] = []
    for other in runs[1:]:
        tasks = sorted(inside & runs[0].asked & other.asked)
        if apart := runs[0].asked.isdisjoint(other.asked):
            changed.append(Change("no task in common", other.name, "", ""))
        other_words = _prompts(runs[0], tasks) != _prompts(other, tasks)
        for what, told in (_OF_MODELS if apart else _ASPECTS).items():
            before, now = told(runs[0], tasks), told(other, tasks)
            if what == "data" and other_words:  # which are in the digests of samples
                before, now = _without_digests(before), _without_digests(now)
            if before != now:
                changed.append(Change(what, other.name, *_shortly(before, now)))
        redefined = [
            one
            for row in rows
            for task in tasks
            if task in tasks_inside(row.task, runs[0].members)
            for one in differences(
                runs[0].run.results, other.run.results, task, row.metric
            )
            if one.aspect == "definition"
        ]
        if redefined:
            before = {
                name: value for one in redefined for name, value in one.before.items()
            }
            now = {name: value for one in redefined for name, value in one.now.items()}
            changed.append(Change("definition", other.name, *_shortly(before, now)))
    what_changed = {change.what for change in changed}
    seen = (
        tuple(_OF_MODELS)
        if all(runs[0].asked.isdisjoint(other.asked) for other in runs[1:])
        else (*_ASPECTS, "definition")
    )
    return Changes(
        tuple(what for what in seen if what not in what_changed), tuple(changed)
    )


def _model(run: ComparedRun, _tasks: Sequence[str]) -> str:
    return run.run.model


def _weights(run: ComparedRun, _tasks: Sequence[str]) -> Any:
    identity = _identity(run)
    return {
        name: identity[name]
        for name in ("weights", "revision", "adapter_source")
        if identity.get(name)
    }


def _identity(run: ComparedRun) -> Mapping[str, Any]:
    found: Mapping[str, Any] = run.run.record.get("identity", {}).get("model", {})
    return found


def _generation(run: ComparedRun, tasks: Sequence[str]) -> Any:
    """Parameters, seed and repeats, and the model's own settings."""
    own = ("model", "weights", "revision", "adapter_source", "base_url", "backend")
    by_task = {task: run.tasks[task].config.get("generation_kwargs") for task in tasks}
    repeats = {
        task: run.run.ours.get("asked", {}).get(task, {}).get("repeats")
        for task in tasks
    }
    settings = {
        name: value for name, value in _identity(run).items() if name not in own
    }
    identity = run.run.record.get("identity", {})
    return {
        **{name: identity.get(name) for name in ("seed", "reasoning_tags")},
        **settings,
        "parameters": _one(by_task),
        "repeats": _one(repeats),
    }


def _prompts(run: ComparedRun, tasks: Sequence[str]) -> Any:
    return {
        "system": run.run.results.get("system_instruction_sha"),
        "prompts": digest([run.tasks[task].config.get("prompt") for task in tasks]),
    }


def _protocol(run: ComparedRun, tasks: Sequence[str]) -> Any:
    return _one({task: run.run.ours.get("protocols", {}).get(task) for task in tasks})


def _version(run: ComparedRun, tasks: Sequence[str]) -> Any:
    return _one({task: run.run.results.get("versions", {}).get(task) for task in tasks})


def _data(run: ComparedRun, tasks: Sequence[str]) -> Any:
    """Where samples come from and which; their digests stand for what is in them."""
    names = (
        "dataset_path",
        "dataset_name",
        "revision",
        "data",
        "dataset_kwargs",
        "filter",
    )
    by_task = {}
    for task in tasks:
        scores = run.scores(task)
        digests = sorted(
            set() if scores is None else {one for one in scores.digests if one}
        )
        config = run.tasks[task].config
        by_task[task] = {name: config[name] for name in names if config.get(name)} | {
            "samples": len(digests),
            "digest": digest(digests)[:8],
        }
    return _one(by_task)


def _without_digests(data: Any) -> Any:
    if not isinstance(data, Mapping):
        return data
    return {
        name: _without_digests(value)
        for name, value in data.items()
        if name != "digest"
    }


def _judge(run: ComparedRun, tasks: Sequence[str]) -> Any:
    found = {}
    for task in tasks:
        judged = [
            judges_of(run.run.ours, task, metric_of(run.run.ours, task, name))
            for name in run.run.ours.get("metrics", {}).get(task, {})
        ]
        served = sorted(
            {f"{role} {name}" for one in filter(None, judged) for role, name in one}
        )
        found[task] = ", ".join(served)
    return _one({task: name for task, name in found.items() if name})


_OF_MODELS: Mapping[str, Callable[[ComparedRun, Sequence[str]], Any]] = {
    "model": _model,
    "weights": _weights,
}
"""What runs without a task in common can be compared by."""
_ASPECTS: Mapping[str, Callable[[ComparedRun, Sequence[str]], Any]] = {
    **_OF_MODELS,
    "generation": _generation,
    "prompts": _prompts,
    "protocol": _protocol,
    "version": _version,
    "data": _data,
    "judge": _judge,
}


def _one(by_task: Mapping[str, Any]) -> Any:
    """The value that all tasks share, else each of them."""
    values = list(by_task.values())
    return (
        values[0]
        if values and all(value == values[0] for value in values)
        else dict(by_task)
    )


def _shortly(before: Any, now: Any) -> tuple[str, str]:
    """Both values in short; of two mappings what differs."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        names = [
            name for name in {**before, **now} if before.get(name) != now.get(name)
        ]
        pairs = [
            (_shortly(before.get(name), now.get(name)), name) for name in names[:3]
        ]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        texts = [
            ", ".join(f"{name} {pair[side]}" for pair, name in pairs) + more
            for side in (0, 1)
        ]
    else:
        texts = [_word(before), _word(now)]
    return printable(texts[0], limit=SHOWN), printable(texts[1], limit=SHOWN)


def _word(value: Any) -> str:
    return (
        "none"
        if value in (None, {})
        else value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False)
    )
