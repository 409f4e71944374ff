"""Describes the models that produced a run's numbers, and the metrics that its results
leave out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mmeval.results.prompt_words import released_share

if TYPE_CHECKING:
    from mmeval.results.stored_run import StoredRun


def made_with(run: StoredRun) -> str:
    """Returns one line: the model, other roles with the models that their servers
    report, profiles, the share of released prompts, and the name of the run."""
    backends: dict[str, dict[str, None]] = {}
    shown = {task.name for task in run.tasks}
    for task, judges in run.ours.get("judges", {}).items():
        for row in judges if task in shown else ():
            requested = str(row.get("asked", ""))
            served = str(row.get("served", ""))
            name = served or requested
            if requested and served and requested != served:
                name = f"{requested} (served as {served})"
            backends.setdefault(str(row["role"]), {})[name] = None
    profiles = set()
    for task, metrics in run.ours.get("metrics", {}).items():
        for metric in metrics.values() if task in shown else ():
            profiles.add(str(metric.get("profile") or "standard"))
    words = [f"model: {run.model}"]
    for role in sorted(backends, key=lambda role: (role != "judge", role)):
        words.append(f"{role}: {' and '.join(backends[role])}")
    if profiles:
        words.append(f"profile: {' and '.join(sorted(profiles))}")
    share = released_share(run.ours.get("prompts", {}))
    if share:
        words.append(f"prompts in the authors' words: {share}")
    words.append(f"run: {run.folder.resolve().name}")
    return f"Made with {', '.join(words)}."


def skipped_metrics_note(run: StoredRun) -> Iterator[str]:
    """Yields the metrics that the newest results leave out, with the command that shows
    all; at most one line."""
    skipped = run.ours.get("left_aside")
    if skipped:
        yield skipped_metrics_line(skipped, str(run.folder))


def skipped_metrics_line(skipped: Mapping[str, Any], folder: str) -> str:
    """Returns the metrics that a scoring left out (``skipped``, by task), and the
    command that shows them."""
    names: dict[str, None] = {}
    for metrics in skipped.values():
        for name in metrics:
            names[str(name)] = None
    return (
        f"the last scoring left out {', '.join(names)}. Their scores are kept: "
        f"mmeval score {shlex.quote(folder)} shows all metrics"
    )
