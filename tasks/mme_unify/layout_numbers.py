"""Computes the strict scores of MME-Unify's tables, in which missing outputs count
as 0, and names the settings behind the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mmeval.aggregate import mean
from mmeval.results import NumberKey, TableNumber, result_of, scores_of
from mmeval.tasks.mme_unify.maze_steps import step_numbers
from mmeval.tasks.mme_unify.steps import steps

if TYPE_CHECKING:
    from mmeval.results import StoredRun, StoredTask

SCORE = "mme_unify_score"
STRICT = "strict"
"""The slice of the scores in which missing outputs count as 0."""
PREFIX = "mme_unify_"
GENERATION = ("civg", "fir", "tie", "tig", "tvg", "vp")
_NOT_SETTINGS = ("of", "script", "text_key")


def more_numbers(run: StoredRun) -> Iterator[TableNumber]:
    """Yields the strict scores of a run, and the numbers of its mazes by step."""
    yield from strict_scores(run)
    yield from step_numbers(run)


def strict_scores(run: StoredRun) -> Iterator[TableNumber]:
    """Yields the strict score of each MME-Unify task of a run."""
    for task in run.tasks:
        result = None
        if task.name.startswith(PREFIX):
            result = result_of(run, task, SCORE)
        if result is None:
            continue
        key = NumberKey(task.name, SCORE, STRICT)
        if 0 < result.unsupported == result.n - result.faulty:
            yield TableNumber(key, None, "cannot")
            continue
        parts: list[str] = list(result.weights)
        for entry in run.ours.get("metrics", {}).get(task.name, {}).values():
            if SCORE in entry.get("outputs", ()) and not parts:
                parts = list(entry.get("pieces", ()))
        values = [_strict_value(run, task, part) for part in parts]
        known = [value for value in values if value is not None]
        if len(known) == len(values) > 0:
            yield TableNumber(key, math.fsum(known) / len(known))
        else:
            yield TableNumber(key, None, "lost", "not scored")


def _strict_value(run: StoredRun, task: StoredTask, number: str) -> float | None:
    """Returns the mean with missing answers counted as 0, or None if it is unknown."""
    scores = scores_of(run, task, number)
    lost = scores.count("failed") + scores.count("unscored")
    if scores.count("unavailable") or lost == len(scores):
        return None
    positions = []
    for position, row in enumerate(scores):
        if row.status != "unsupported" and not row.faulty:
            positions.append(position)
    supported = scores.take(positions)
    name = task.name.removeprefix(PREFIX)
    # in generation missing outputs are inapplicable, and scores have no lowest value
    if name in GENERATION:
        if not positions:
            return None
        return math.fsum(row.value or 0.0 for row in supported) / len(positions)
    filled = supported.filled(0)
    if name == "vcot":
        is_official = _profile_of(run, task.name) == "official"
        return steps(filled, profile="official" if is_official else "standard").value
    return mean(filled).value


def _profile_of(run: StoredRun, task: str) -> str:
    for entry in run.ours.get("metrics", {}).get(task, {}).values():
        if "profile" in entry:
            return str(entry["profile"])
    return "standard"


def settings(run: StoredRun) -> Mapping[str, str]:
    """Returns the switches of metrics that change the numbers."""
    values_of: dict[str, dict[str, None]] = {}
    for task, metrics in run.ours.get("metrics", {}).items():
        for entry in metrics.values() if task.startswith(PREFIX) else ():
            switches: dict[str, Any] = {}
            if not entry.get("of_averages"):
                switches.update(entry.get("switches", {}))
            if switches.get("vcot") == "official":
                # the official variant does not use step_images
                switches.pop("step_images", None)
            for name, value in switches.items():
                is_setting = name not in _NOT_SETTINGS and value != ""
                if is_setting and isinstance(value, str | bool | int | float):
                    values_of.setdefault(name, {})[str(value)] = None
    texts = []
    for name in sorted(values_of):
        texts.append(f"{name} {' and '.join(sorted(values_of[name]))}")
    return {"Settings": ", ".join(texts)}
