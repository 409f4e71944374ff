"""The key of an outcome: a digest of everything that a run's outcome depends on, except
the files of its folder and the media of its data."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from mmeval import plugins
from mmeval._version import __version__
from mmeval.backend.agent.casting import identity_of
from mmeval.installation import ROOT
from mmeval.records.digests import digest
from mmeval.records.sample import Sample
from mmeval.run.backends import Backends
from mmeval.run.costs.prices import Prices
from mmeval.run.task_run import score_definition
from mmeval.store.seal import file_states, files_in
from mmeval.task.task import Selection, Task

_OWN = "mmeval"
_OWN_FOLDERS = ("mmeval", "tasks", "metrics", "model_backends")
"""The folders of mmeval in a checkout; in an installation, all are in the first one."""


def outcome_key(
    *,
    options: Mapping[str, Any],
    identity: Mapping[str, Any],
    selection: Selection,
    data: Mapping[str, Mapping[str, Any]],
    backends: Backends,
    prices: Prices,
) -> str:
    """Returns the key of a run's outcome, or an empty string if it cannot be known.

    ``options`` are the settings of the command, without secrets. ``identity`` is that
    of the run. ``data`` are the records of the tasks' data. The behaviour of a backend
    or a plugin that a script has created is unknown.
    """
    objects = [spec for spec in backends.specs.values() if spec.instance is not None]
    if objects or plugins.any_of_script():
        return ""
    named = backends.named
    key = {
        "mmeval": __version__,
        "code": code_digest(),
        "options": options,
        "identity": identity,
        "roles": {role: identity_of(role, named) for role in sorted(named)},
        "role_params": {
            role: params.to_json() for role, params in backends.params.items()
        },
        "tasks": [_task_facts(task, data[task.name], backends) for task in selection],
        "groups": [asdict(group) for group in selection.groups],
        "left_out": [task.finding.to_json() for task in selection.left_out],
        "prices": repr(prices),
    }
    return digest(_as_json(key))


def media_folders(samples: Sequence[Sample]) -> list[str]:
    """Returns the folders of the samples' media.

    They change with the folder of the data, and with an archive that is unpacked again,
    whose rows may be the same.
    """
    folders: set[str] = set()
    for sample in samples:
        for content in sample.contents:
            for medium in content.media():
                if medium.path is not None:
                    folders.add(str(medium.path.absolute().parent))
    return sorted(folders)


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


def code_digest() -> str:
    """Returns a digest of the states of mmeval's files and of the code of its plugins.

    A checkout may change without a new version. The states are read once for the same
    plugins, because the code of a process does not change while it is running.
    """
    packages: set[str] = set()
    for group in plugins.GROUPS:
        for entry in plugins.entries(group):
            packages.add(entry.module.partition(".")[0])
    return _code_digest(ROOT, frozenset(packages - {_OWN}))


@cache
def _code_digest(root: Path, packages: frozenset[str]) -> str:
    files: list[Path] = []
    for name in _OWN_FOLDERS:
        for file in files_in(root / name):
            # Bundled samples are data, whose states the seal has. A report that
            # contains its media links to them, which changes their states.
            if "bundled" not in file.relative_to(root).parts:
                files.append(file)
    for package in packages:
        files += _files_of_package(package)
    return digest(_as_json(file_states(sorted(files))))


def _files_of_package(package: str) -> Iterator[Path]:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # it cannot be loaded, so it is not used
        return
    if spec is None:
        return
    if spec.origin is not None:
        yield Path(spec.origin)
    for folder in spec.submodule_search_locations or ():
        yield from files_in(Path(folder))


def _as_json(value: Any) -> Any:
    """Returns a value in which everything that JSON does not have is text."""
    if isinstance(value, Mapping):
        return {str(name): _as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if value is None or isinstance(value, str | int | bool):
        return value
    return repr(value)
