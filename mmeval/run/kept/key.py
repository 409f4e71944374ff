"""The key of a kept outcome: a digest of everything that a run's outcome depends on,
except the files of its folder and its media."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mmeval._version import __version__
from mmeval.installation import ROOT
from mmeval.records.digests import digest
from mmeval.run.backends import Backends
from mmeval.run.costs.prices import Prices
from mmeval.run.kept.files import file_states, files_in
from mmeval.run.task_run import score_definition
from mmeval.task.task import Selection, Task

_CODE = ("mmeval", "tasks", "metrics", "model_backends")
"""The folders of mmeval's own code in a checkout; in an installation, all of them are
in the first one."""


def outcome_key(
    *,
    options: Mapping[str, Any],
    identity: Mapping[str, Any],
    selection: Selection,
    data: Mapping[str, Mapping[str, Any]],
    backends: Backends,
    prices: Prices,
) -> str:
    """Returns the key of a run's outcome.

    ``options`` are the settings of the command, without secrets. ``identity`` is that
    of the run, and ``data`` are the records of the tasks' data.
    """
    tasks = [_task_facts(task, data[task.name], backends) for task in selection]
    key = {
        "mmeval": __version__,
        "code": _code_digest(),
        "options": options,
        "identity": identity,
        "tasks": tasks,
        "groups": [asdict(group) for group in selection.groups],
        "left_out": [task.finding.to_json() for task in selection.left_out],
        "prices": repr(prices),
    }
    return digest(_as_json(key))


def _task_facts(
    task: Task, data: Mapping[str, Any], backends: Backends
) -> dict[str, Any]:
    return {
        "name": task.name,
        "config": dict(task.config),
        "prompts": {role: dict(text) for role, text in task.protocol_prompts.items()},
        "data": dict(data),
        "scores": score_definition(task, backends.named, data["fingerprint"]),
        "lacks": [[lack.to_json() for lack in entry.lacks] for entry in task.entries],
        "repeats": task.repeats,
        "numbers": repr(task.numbers),
        "aggregations": [
            [metric.aggregation, dict(metric.options)] for metric in task.metrics
        ],
    }


def _code_digest() -> str:
    """Returns a digest of the states of mmeval's own modules, which a checkout may
    change without a new version."""
    modules: list[Path] = []
    for name in _CODE:
        modules += files_in(ROOT / name, ending=".py")
    return digest(file_states(sorted(modules)))


def _as_json(value: Any) -> Any:
    """Returns a value in which everything that JSON does not have is text."""
    if isinstance(value, Mapping):
        return {str(name): _as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if value is None or isinstance(value, str | int | bool):
        return value
    return repr(value)
