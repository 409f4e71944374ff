"""Checks that registered plugins load and that their names are unique."""

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
    """Loads every plugin once. A missing extra is not a fault of the plugin."""
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
    """Checks for names that several packages register.

    Such a name can be used only in the form ``distribution/name``.
    """
    for group in plugins.GROUPS:
        claimed: dict[str, list[str]] = {}
        for entry in plugins.entries(group):
            claimed.setdefault(entry.name, []).append(plugins.distribution_of(entry))
        for name, owners in claimed.items():
            if len(owners) > 1:
                full = " or ".join(f"{owner}/{name}" for owner in sorted(owners))
                subject = Subject(name=f"{name} ({group})")
                cause = f"several packages register this name; write {full}"
                yield Finding("plugin", subject, cause=cause, severity="note")


def task_files(include_path: Sequence[Path]) -> Iterator[Finding]:
    """Checks that the task files can be read, as ``mmeval ls tasks`` does."""
    for entry in TaskIndex(include_path).listing():
        if entry.problem is not None:
            yield finding_of(entry.problem, Subject(task=entry.full_name))
