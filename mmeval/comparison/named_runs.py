"""Runs as a command names them: a folder, or several that count as repeats of one
model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import UsageError
from mmeval.results.compare import changed_names, judges_in
from mmeval.results.stored_run import StoredRun, run_folder
from mmeval.system.wording import listed

_MAY_DIFFER = frozenset(("seed", "base_url", "answers"))
"""What an identity says of one repeat: its seed, where it was made, and the answers of
a run that replays some."""


class NamedRuns(NamedTuple):
    """A run, or several runs of one model, and the name they were given; empty for
    none."""

    name: str
    runs: tuple[StoredRun, ...]


def named_runs(given: str | Path) -> NamedRuns:
    """The runs of ``RUN`` or ``NAME=RUN,RUN``.

    Raises MissingDataError where there is no run, UsageError for one that has no
    results, and for runs that are not repeats of each other.
    """
    name, equals, rest = str(given).partition("=")
    is_one_folder = not equals or Path(given).exists()
    if is_one_folder:
        return NamedRuns("", (_with_results(Path(given)),))
    folders = [folder for folder in rest.split(",") if folder]
    if not name or not folders:
        raise UsageError(f"{given}: write NAME=RUN,RUN for the repeats of one model")
    runs = tuple(_with_results(Path(folder)) for folder in folders)
    places = [run.folder.resolve() for run in runs]
    for folder, place in zip(folders, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(f"{name}: {folder} is named twice; it counts once")
    first = _setting(runs[0])
    for run in runs[1:]:
        unlike = changed_names(first, _setting(run))
        if unlike:
            raise UsageError(
                f"{name}: {run.folder} is not a repeat of {runs[0].folder}: they "
                f"differ in {listed(unlike, 4)}"
            )
    return NamedRuns(name, runs)


def _with_results(folder: Path) -> StoredRun:
    run = StoredRun(run_folder(folder))
    if not run.results:
        raise UsageError(
            f"{run.folder} has no results yet: mmeval score {run.folder} gives "
            "its numbers"
        )
    return run


def _setting(run: StoredRun) -> dict[str, Any]:
    """All by which the answers and scores of a run are made, by name; not its seed and
    its answers."""
    identity: Mapping[str, Any] = run.record.get("identity", {})
    found: dict[str, Any] = dict(_of_all_repeats(identity))
    found["name of the model"] = run.model
    found["judges"] = judges_in(run.ours, run.ours.get("judges", ()))
    found["tasks"] = sorted(run.ours.get("protocols", {}))
    versions = run.results.get("versions", {})
    samples = run.ours.get("asked", {})
    for task in run.tasks:
        found[f"task file of {task.name}"] = task.config
        found[f"version of {task.name}"] = versions.get(task.name)
        found[f"scoring of {task.name}"] = _of_all_repeats(task.plan)
        found[f"samples of {task.name}"] = samples.get(task.name)
    return found


def _of_all_repeats(value: Any) -> Any:
    if isinstance(value, list):
        return [_of_all_repeats(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    known = {}
    for name, item in value.items():
        if name not in _MAY_DIFFER:
            known[name] = _of_all_repeats(item)
    return known
