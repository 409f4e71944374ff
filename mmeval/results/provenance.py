"""The models behind a stored run's numbers, and what its newest results leave out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmeval.results.stored_run import StoredRun


def made_with(run: StoredRun) -> str:
    """One line: model, judges and captioners as served, profile, and the run's name."""
    shown = {task.name for task in run.tasks}
    rows = [
        row
        for task, judges in run.ours.get("judges", {}).items()
        if task in shown
        for row in judges
    ]
    backends: dict[str, dict[str, None]] = {}
    for row in rows:
        backends.setdefault(str(row["role"]), {})[_named(row)] = None
    metrics = (
        metrics
        for task, metrics in run.ours.get("metrics", {}).items()
        if task in shown
    )
    profiles = sorted(
        {
            str(one.get("profile") or "standard")
            for own in metrics
            for one in own.values()
        }
    )
    roles = sorted(backends, key=lambda role: (role != "judge", role))
    words = [
        f"model: {run.model}",
        *(f"{role}: {' and '.join(backends[role])}" for role in roles),
        *([f"profile: {' and '.join(profiles)}"] if profiles else []),
        f"run: {run.folder.resolve().name}",
    ]
    return f"Made with {', '.join(words)}."


def _named(row: Mapping[str, Any]) -> str:
    asked, served = str(row.get("asked", "")), str(row.get("served", ""))
    return (
        f"{asked} (served as {served})"
        if asked and served and asked != served
        else served or asked
    )


def skipped_metrics_note(run: StoredRun) -> Iterator[str]:
    """What a run's newest results lack, and the command to make all; at most one
    line."""
    if aside := run.ours.get("left_aside"):
        yield skipped_metrics_line(aside, str(run.folder))


def skipped_metrics_line(skipped: Mapping[str, Any], folder: str) -> str:
    """The metrics a scoring left out (``skipped``, by task), and how to see them
    again."""
    names = ", ".join(
        dict.fromkeys(str(name) for own in skipped.values() for name in own)
    )
    return (
        f"these results are without {names}, which the last scoring was not asked "
        "for; what is scored of them is kept: "
        f"mmeval score {shlex.quote(folder)} shows all again"
    )
