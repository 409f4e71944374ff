"""Checks registered plugins: whether they load, and names of two packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mmeval import plugins
from mmeval.errors import MissingError, MmevalError
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.from_error import finding_of
from mmeval.task.index import TaskIndex

_FILES = "mmeval.tasks"


def loaded() -> Iterator[Finding]:
    """Load every plugin once. A missing extra is not a fault of the plugin."""
    for group in plugins.GROUPS:
        if group == _FILES:
            continue
        for entry in plugins.entries(group):
            name = f"{plugins.distribution_of(entry)}/{entry.name}"
            try:
                plugins.load(group, name)
            except MissingError:
                continue
            except MmevalError as error:
                yield finding_of(error, Subject(name=f"{name} ({group})"))


def clashes() -> Iterator[Finding]:
    """Check for names that can be used only as ``distribution/name``."""
    for group in plugins.GROUPS:
        claimed: dict[str, list[str]] = {}
        for entry in plugins.entries(group):
            claimed.setdefault(entry.name, []).append(plugins.distribution_of(entry))
        for name, owners in claimed.items():
            if len(owners) > 1:
                full = " or ".join(f"{owner}/{name}" for owner in sorted(owners))
                subject = Subject(name=f"{name} ({group})")
                cause = f"two packages register it; write {full}"
                yield Finding("plugin", subject, cause=cause, severity="note")


def task_files(include_path: Sequence[Path]) -> Iterator[Finding]:
    """Check the files of tasks as ``mmeval ls tasks`` reads them."""
    for entry in TaskIndex(include_path).listing():
        if entry.problem is not None:
            yield finding_of(entry.problem, Subject(task=entry.full_name))
