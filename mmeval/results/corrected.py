"""Corrected numbers of a run: a judged number by people's ratings, or in the scale of
another judge.

Each is kept in ``ratings/<name>/corrected.json`` of the run folder, together with the
score sets that it was computed from. It is a further number of its task, and stands
beside the number that it corrects. There ``scored`` is the number of ratings or of
verdicts that it rests on.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.records.score import Result
from mmeval.system.folders import write_atomic
from mmeval.system.json_lines import sealed_document, unsealed_document
from mmeval.system.wording import file_name

log = logging.getLogger(__name__)

FOLDER = "ratings"
_FILE = "corrected.json"
_VERSION = 1


def keep_corrected(
    run: Path,
    name: str,
    results: Sequence[Result],
    score_sets: Mapping[str, str],
) -> None:
    """Writes corrected numbers into a run folder.

    ``name`` is that of the ratings or of the judge. ``score_sets`` are those of the
    numbers that were corrected, by task. Raises StorageError.
    """
    document = {
        "v": _VERSION,
        "score_sets": dict(score_sets),
        "results": [result.to_json() for result in results],
    }
    folder = run / FOLDER / file_name(name)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / _FILE, sealed_document(document))


def with_corrected(document: Mapping[str, Any], run: Path) -> dict[str, Any]:
    """Returns the content of a results file with the corrected numbers of its run.

    A correction of another score set is left out, since the number that it corrects is
    not in the file.
    """
    ours = dict(document["mmeval"])
    before = corrected_keys(document)
    results = []
    for row in ours["results"]:
        if (row["task"], row["metric"]) not in before:
            results.append(row)
    corrected = list(_corrected_rows(run, ours.get("score_sets", {})))
    ours["results"] = [*results, *corrected]
    ours["corrected"] = [[row["task"], row["metric"]] for row in corrected]
    if not corrected:
        del ours["corrected"]
    return {**document, "mmeval": ours}


def corrected_keys(document: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Returns the task and the name of each corrected number in a results file."""
    keys = document.get("mmeval", {}).get("corrected", ())
    return {(task, metric) for task, metric in keys}


def _corrected_rows(
    run: Path, score_sets: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    for file in sorted((run / FOLDER).glob(f"*/{_FILE}")):
        try:
            kept = unsealed_document(json.loads(file.read_bytes()))
            rows = [Result.from_json(row).to_json() for row in kept["results"]]
            sets = dict(kept["score_sets"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            log.warning("%s is damaged (%s), so its numbers are not shown", file, error)
            continue
        for row in rows:
            if sets.get(row["task"]) == score_sets.get(row["task"]):
                yield row
