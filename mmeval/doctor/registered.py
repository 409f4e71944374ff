"""Check registered plugins: whether they load, and names that two packages claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from mmeval import plugins
from mmeval.doctor.finding import Finding, status_of
from mmeval.errors import MmevalError
from mmeval.task.index import TaskIndex

_FILES = "mmeval.tasks"


def loaded() -> Iterator[Finding]:
    """Load every plugin once. A missing extra is no defect of a plugin."""
    sound = 0
    owners: Counter[str] = Counter()
    for group in plugins.GROUPS:
        for entry in plugins.entries(group) if group != _FILES else ():
            owner = plugins.distribution_of(entry)
            name = f"{owner}/{entry.name}"
            try:
                plugins.load(group, name)
            except MmevalError as error:
                status = status_of(error)
                fix = f"reinstall or remove it: pip uninstall {owner}"
                if owner == "mmeval":
                    fix = "see the installation above"
                yield Finding(
                    status,
                    f"{name} ({group}): {error}",
                    fix if status == "broken" else "",
                )
            else:
                sound += 1
                owners[owner] += 1
    shown = ", ".join(f"{owner} {count}" for owner, count in sorted(owners.items()))
    yield Finding(
        "ok" if sound else "broken",
        f"{sound} plugins can be loaded ({shown or 'none is registered'})",
    )


def clashes() -> Iterator[Finding]:
    """Check for names that can be used only as ``distribution/name``."""
    for group in plugins.GROUPS:
        claimed: dict[str, list[str]] = {}
        for entry in plugins.entries(group):
            claimed.setdefault(entry.name, []).append(plugins.distribution_of(entry))
        for name, owners in claimed.items():
            if len(owners) > 1:
                full = " or ".join(f"{owner}/{name}" for owner in sorted(owners))
                message = (
                    f"{name!r} ({group}) is registered by "
                    f"{' and '.join(sorted(owners))}"
                )
                yield Finding("note", message, f"write {full}")


def task_files(include_path: Sequence[Path]) -> Iterator[Finding]:
    """Check the files of tasks as ``mmeval ls tasks`` reads them."""
    index = TaskIndex(include_path)
    problems = [entry.problem for entry in index.listing() if entry.problem is not None]
    for problem in problems:
        yield Finding("broken", str(problem), f"mmeval validate {problem.file}")
    count = sum(
        1 for entry in index.listing() if entry.problem is None and not entry.is_group
    )
    yield Finding("ok", f"{count} tasks are known")
