"""The kept outcome of a finished run: a file in its folder.

``kept/<key>.json`` contains what a run would print, and the states of all files that
it was computed from. If the same command finds the file, and neither the key nor any
file has changed, it prints that outcome again. Otherwise the run is read as usual, so a
damaged or foreign file only costs time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

from mmeval.errors import StorageError
from mmeval.findings.finding import Finding
from mmeval.records.score import Result
from mmeval.run.costs.prices import Bill
from mmeval.run.kept.files import FileState, are_unchanged, file_states, files_in
from mmeval.run.options import PublishedFiles, RunCounts, RunOutcome
from mmeval.store.spending import CallTotals, ModelEndpoint
from mmeval.system.folders import write_atomic
from mmeval.system.json_lines import (
    from_line,
    read_rows,
    sealed_document,
    unsealed_document,
)
from mmeval.system.wording import file_name
from mmeval.task.task import Selection

FOLDER = "kept"
_COVERED = ("journal", "samples", "trials", "scores", "media")
"""The folders of a run whose files the outcome depends on."""

log = logging.getLogger(__name__)


def is_settled(outcome: RunOutcome) -> bool:
    """Returns True if the same command would ask and score nothing again.

    Failed answers and lost verdicts are asked again, and a denial of a handshake may
    have been repaired.
    """
    counts = outcome.counts
    denied = any(
        probe.verdict == "no"
        for probes in outcome.handshakes.values()
        for probe in probes
    )
    is_complete = not counts.failed and not counts.unscored and not outcome.unfinished
    return is_complete and not denied


def keep_outcome(outcome: RunOutcome, published: PublishedFiles) -> None:
    """Keeps the outcome of a settled run for the same command.

    A full disk only costs time later, so it is logged and not raised.
    """
    folder, key = outcome.folder, outcome.key
    covered = [folder / "run.json", published.results, *_files_of_run(folder)]
    page = None
    if published.page is not None:
        covered.append(published.page)
        page = str(published.page.relative_to(folder))
    document = {
        "key": key,
        "files": _relative(folder, covered),
        "results": published.results.name,
        "page": page,
        "media": file_states(_media_of_data(folder)),
        "outcome": _to_json(outcome),
    }
    file = _file(folder, key)
    try:
        write_atomic(file, sealed_document(document))
    except StorageError as error:
        log.debug("the outcome is not kept (%s)", error)


def kept_outcome(
    folder: Path, key: str, model: str, selection: Selection
) -> RunOutcome | None:
    """Returns the kept outcome of the same command, or None if anything changed."""
    try:
        document = unsealed_document(from_line(_file(folder, key).read_bytes()))
        states = {str(folder / name): row for name, row in document["files"].items()}
        present = {str(path) for path in _files_of_run(folder)}
        has_new_files = not present <= states.keys()
        if document["key"] != key or has_new_files:
            return None
        if not are_unchanged(states) or not are_unchanged(document["media"]):
            return None
        page = document["page"]
        published = PublishedFiles(
            folder / document["results"], None if page is None else folder / page
        )
        outcome = _from_json(document["outcome"], folder, model, selection)
        return replace(outcome, key=key, published=published)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.debug("no outcome is kept (%s)", error)
        return None


def _file(folder: Path, key: str) -> Path:
    return folder / FOLDER / f"{key}.json"


def _files_of_run(folder: Path) -> Iterator[Path]:
    for name in _COVERED:
        yield from files_in(folder / name)


def _relative(folder: Path, paths: Iterable[Path]) -> dict[str, FileState]:
    """Returns the states of files by their paths in the run folder, which may move."""
    states = file_states(paths)
    return {str(Path(path).relative_to(folder)): states[path] for path in states}


def _media_of_data(folder: Path) -> Iterator[Path]:
    """Yields the media of the samples that are files of a data set."""
    for samples in files_in(folder / "samples"):
        for _, row in read_rows(samples):
            sample = row["sample"]
            contents = [message["content"] for message in sample["input"]]
            contents += [*sample["references"], *sample.get("candidates", ())]
            for part in chain.from_iterable(contents):
                path = part.get("media", {}).get("path")
                if path is not None:
                    yield Path(path)


def _to_json(outcome: RunOutcome) -> dict[str, Any]:
    return {
        "results": [result.to_json() for result in outcome.results],
        "group_results": [result.to_json() for result in outcome.group_results],
        "counts": asdict(outcome.counts),
        "bills": [_bill_to_json(bill) for bill in outcome.bills],
        "findings": [finding.to_json() for finding in outcome.findings],
        "score_sets": {name: path.name for name, path in outcome.score_sets.items()},
        "rows": dict(outcome.rows),
        "metric_device": outcome.metric_device,
        "exit_code": outcome.exit_code,
    }


def _from_json(
    row: Mapping[str, Any], folder: Path, model: str, selection: Selection
) -> RunOutcome:
    """Returns an outcome whose answers were all kept."""
    counts = RunCounts(**row["counts"])
    score_sets: dict[str, Path] = {}
    for task, name in row["score_sets"].items():
        score_sets[task] = folder / "scores" / file_name(task) / name
    return RunOutcome(
        folder=folder,
        model_name=model,
        selection=selection,
        results=tuple(map(Result.from_json, row["results"])),
        group_results=tuple(map(Result.from_json, row["group_results"])),
        counts=replace(counts, kept=counts.kept + counts.new, new=0),
        started=time.strftime("%Y-%m-%dT%H-%M-%S"),
        seconds=0.0,
        exit_code=row["exit_code"],
        rows=row["rows"],
        score_sets=score_sets,
        bills=tuple(map(_bill_from_json, row["bills"])),
        metric_device=row["metric_device"],
        findings=tuple(map(Finding.from_json, row["findings"])),
    )


def _bill_to_json(bill: Bill) -> dict[str, Any]:
    return {
        "endpoint": list(bill.endpoint),
        "spent": asdict(bill.spent),
        "usd": bill.usd,
        "source": bill.source,
    }


def _bill_from_json(row: Mapping[str, Any]) -> Bill:
    return Bill(
        ModelEndpoint(*row["endpoint"]),
        CallTotals(**row["spent"]),
        row["usd"],
        row["source"],
    )
