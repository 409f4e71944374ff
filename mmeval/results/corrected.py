"""Corrected numbers of a run: a judged number by people's ratings, or in the scale of
another judge.

Each is kept in ``ratings/<name>/corrected.json`` of the run folder, together with the
score sets that it was computed from and the number that it corrects. It is a further
number of its task, and stands beside the number that it corrects. There ``scored`` is
the number of ratings or of verdicts that it rests on.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.records.score import Result
from mmeval.store.seal import CORRECTED_NUMBERS
from mmeval.system.folders import write_atomic
from mmeval.system.json_lines import sealed_document, unsealed_document
from mmeval.system.wording import file_name

log = logging.getLogger(__name__)

FOLDER = "ratings"
_FILE = "corrected.json"
_VERSION = 1


class Correction(NamedTuple):
    """A corrected number, and the metric that it corrects."""

    result: Result
    metric: str


def keep_corrected(
    run: Path,
    name: str,
    corrections: Sequence[Correction],
    score_sets: Mapping[str, str],
    shown: Mapping[str, Any],
) -> None:
    """Writes corrected numbers into a run folder.

    ``name`` is that of the ratings or of the judge. ``score_sets`` are those of the
    numbers that were corrected, by task. ``shown`` is the content of the run's results
    file, which may have these numbers. Raises StorageError.
    """
    ours = shown.get("mmeval", {})
    before = []
    for result, metric in corrections:
        is_shown = _is_of_set(result.task, score_sets, ours.get("score_sets", {}))
        value_of = _shown_number(ours, result.task, metric) if is_shown else None
        before.append({"metric": metric, "number": value_of})
    document = {
        "v": _VERSION,
        "score_sets": dict(score_sets),
        "before": before,
        "results": [correction.result.to_json() for correction in corrections],
    }
    folder = run / FOLDER / file_name(name)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / _FILE, sealed_document(document))


def drop_corrected(run: Path, name: str) -> None:
    """Removes the corrected numbers that an earlier command has kept by this name.
    Raises OSError."""
    (run / FOLDER / file_name(name) / _FILE).unlink(missing_ok=True)


def with_corrected(document: Mapping[str, Any], run: Path) -> dict[str, Any]:
    """Returns the content of a results file with the corrected numbers of its run.

    A correction of another score set is left out, since the number that it corrects is
    not in the file. So is a correction of a number that has changed since, for example
    because the run has more trials now.
    """
    ours = dict(document["mmeval"])
    before = corrected_keys(document)
    results = []
    for row in ours["results"]:
        if (row["task"], row["metric"]) not in before:
            results.append(row)
    corrected = list(_corrected_rows(run, {**ours, "results": results}))
    ours["results"] = [*results, *corrected]
    ours["corrected"] = [[row["task"], row["metric"]] for row in corrected]
    if not corrected:
        del ours["corrected"]
    return {**document, "mmeval": ours}


def corrected_keys(document: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Returns the task and the name of each corrected number in a results file."""
    keys = document.get("mmeval", {}).get("corrected", ())
    return {(task, metric) for task, metric in keys}


def _corrected_rows(run: Path, ours: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for file in sorted(run.glob(CORRECTED_NUMBERS)):
        try:
            kept = unsealed_document(json.loads(file.read_bytes()))
            rows = [Result.from_json(row).to_json() for row in kept["results"]]
            sets = dict(kept["score_sets"])
            before = [(row["metric"], row["number"]) for row in kept["before"]]
            corrections = list(zip(rows, before, strict=True))
        except (OSError, ValueError, TypeError, KeyError) as error:
            log.warning("%s is damaged (%s), so its numbers are not shown", file, error)
            continue
        for row, (metric, number) in corrections:
            task = row["task"]
            is_shown = _is_of_set(task, sets, ours.get("score_sets", {}))
            if is_shown and number in (None, _shown_number(ours, task, metric)):
                yield row


def _is_of_set(task: str, sets: Mapping[str, str], shown: Mapping[str, str]) -> bool:
    return sets.get(task) == shown.get(task)


def _shown_number(
    ours: Mapping[str, Any], task: str, metric: str
) -> list[float | None] | None:
    """Returns the value and the number of trials of a metric in a results file, or None
    if the file does not have it."""
    for row in ours.get("results", ()):
        if (row["task"], row["metric"]) == (task, metric) and not row.get("slice"):
            return [row["value"], row["n"]]
    return None
