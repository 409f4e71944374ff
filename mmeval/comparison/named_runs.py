"""Opens the runs of a command, which may be listed in a board file.

A run is one folder, or several folders that are treated as repeats of one model.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import UsageError
from mmeval.results.board import BoardRun, is_board, read_board
from mmeval.results.compare import changed_names, judges_in
from mmeval.results.stored_run import StoredRun, run_folder
from mmeval.system.wording import listed

_MAY_DIFFER = frozenset(("seed", "base_url", "answers"))
"""The fields of an identity in which repeats may differ. These are the seed, the
server, and the replayed answers."""


class NamedRuns(NamedTuple):
    """A run, or several runs of one model. ``name`` is empty if no name was given."""

    name: str
    runs: tuple[StoredRun, ...]


def named_runs(words: str | Path) -> NamedRuns:
    """Opens the runs of ``RUN`` or ``NAME=RUN,RUN``.

    Raises MissingDataError if a folder contains no run. Raises UsageError for a run
    without results, and for runs that are not repeats of each other.
    """
    name, equals, rest = str(words).partition("=")
    is_one_folder = not equals or Path(words).exists()
    if is_one_folder:
        return NamedRuns("", (_with_results(Path(words)),))
    folders = [folder for folder in rest.split(",") if folder]
    if not name or not folders:
        raise UsageError(f"{words}: give the repeats of one model as NAME=RUN,RUN")
    runs = tuple(_with_results(Path(folder)) for folder in folders)
    places = [run.folder.resolve() for run in runs]
    for folder, place in zip(folders, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(f"{name}: {folder} occurs twice; give it once")
    first = _setting(runs[0])
    for run in runs[1:]:
        unlike = changed_names(first, _setting(run))
        if unlike:
            raise UsageError(
                f"{name}: {run.folder} is not a repeat of {runs[0].folder}: they "
                f"differ in {listed(unlike, 4)}"
            )
    return NamedRuns(name, runs)


def models_of(words: str | Path) -> list[NamedRuns]:
    """Opens the runs of an argument: of ``RUN``, of ``NAME=RUN,RUN``, or of a board
    file, whose published rows are left out.

    Raises the errors of :func:`named_runs`, and TaskFileError for a wrong board file.
    """
    path = Path(words)
    if not is_board(path):
        return [named_runs(words)]
    models = []
    for row in read_board(path).rows:
        if isinstance(row, BoardRun):
            models.append(NamedRuns(row.name, (_with_results(row.run),)))
    if not models:
        raise UsageError(f"{path} lists no runs")
    return models


def _with_results(folder: Path) -> StoredRun:
    run = StoredRun(run_folder(folder))
    if not run.results:
        raise UsageError(
            f"{run.folder} has no results yet; run mmeval score {run.folder}"
        )
    return run


def _setting(run: StoredRun) -> dict[str, Any]:
    """Returns all settings that change the answers and scores of a run, by name. The
    seed and the answers are left out."""
    identity: Mapping[str, Any] = run.record.get("identity", {})
    setting: dict[str, Any] = dict(_of_all_repeats(identity))
    setting["name of the model"] = run.model
    setting["judges"] = judges_in(run.ours, run.ours.get("judges", ()))
    setting["tasks"] = sorted(run.ours.get("protocols", {}))
    versions = run.results.get("versions", {})
    samples = run.ours.get("asked", {})
    for task in run.tasks:
        setting[f"task file of {task.name}"] = task.config
        setting[f"version of {task.name}"] = versions.get(task.name)
        setting[f"scoring of {task.name}"] = _of_all_repeats(task.plan)
        setting[f"samples of {task.name}"] = samples.get(task.name)
    return setting


def _of_all_repeats(value: Any) -> Any:
    if isinstance(value, list):
        return [_of_all_repeats(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    shared = {}
    for name, item in value.items():
        if name not in _MAY_DIFFER:
            shared[name] = _of_all_repeats(item)
    return shared
