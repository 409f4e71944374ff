"""The kept outcome of a finished run: a file in its folder.

``kept/<key>.json`` contains what a run would print, and the states of all files that
it was computed from. If the same command finds the file, and neither the key nor any
file has changed, it prints that outcome again. Otherwise the run is read as usual, so a
damaged or foreign file only costs time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mmeval.errors import StorageError
from mmeval.findings.finding import Finding
from mmeval.records.score import Result
from mmeval.results.stored_run import newest_results
from mmeval.run.costs.prices import Bill
from mmeval.run.options import PublishedFiles, RunCounts, RunOutcome
from mmeval.store.seal import (
    Seal,
    file_states,
    files_in,
    seal_of,
    states_of_json,
)
from mmeval.store.spending import CallTotals, ModelEndpoint
from mmeval.system.folders import write_atomic
from mmeval.system.json_lines import sealed, to_line, unsealed
from mmeval.system.wording import file_name
from mmeval.task.task import Selection

FOLDER = "kept"
MOST_KEPT = 8
"""Maximum number of commands whose outcomes a run folder keeps."""

log = logging.getLogger(__name__)


def has_kept(folder: Path) -> bool:
    """Returns True if the outcome of any command is kept."""
    return (folder / FOLDER).is_dir()


def with_seal(outcome: RunOutcome, key: str) -> RunOutcome:
    """Returns the outcome of a run with its seal if it may be kept.

    The run's files are written, and its lock is held. ``key`` is empty if the outcome
    must not be kept.
    """
    if not key or not _is_settled(outcome):
        return outcome
    try:
        seal = seal_of(outcome.folder, key, outcome.score_sets.values())
    except (OSError, ValueError) as error:  # it only costs time later
        log.debug("the outcome is not kept (%s)", error)
        return outcome
    return replace(outcome, seal=seal)


def _is_settled(outcome: RunOutcome) -> bool:
    """Returns True if the same command would ask, score and report nothing new.

    Failed answers and lost verdicts are asked again, a denial of a handshake may have
    been repaired, and damage is reported once.
    """
    counts = outcome.counts
    denied = any(
        probe.verdict == "no"
        for probes in outcome.handshakes.values()
        for probe in probes
    )
    damaged = any(finding.kind == "damaged" for finding in outcome.findings)
    is_complete = not counts.failed and not counts.unscored and not outcome.unfinished
    return is_complete and not denied and not damaged


def keep_outcome(outcome: RunOutcome, published: PublishedFiles) -> None:
    """Keeps an outcome that has a seal, with its files, for the same command.

    A full disk only costs time later, so it is logged and not raised.
    """
    folder, seal = outcome.folder, outcome.seal
    assert seal is not None
    files, page = [published.results], None
    if published.page is not None:
        files += files_in(published.page.parent)
        page = str(published.page.relative_to(folder))
    document = {
        "seal": seal.to_json(),
        "results": published.results.name,
        "page": page,
        "published": file_states(files, inside=folder),
        "outcome": _to_json(outcome),
    }
    file = _file(folder, seal.key)
    try:
        write_atomic(file, sealed(to_line(document)))
        _remove_oldest(file.parent)
    except (StorageError, OSError) as error:
        log.debug("the outcome is not kept (%s)", error)


def kept_outcome(
    folder: Path, key: str, model: str, selection: Selection
) -> RunOutcome | None:
    """Returns the kept outcome of the same command, or None if anything changed."""
    try:
        document = unsealed(_file(folder, key).read_bytes())
        seal = Seal.from_json(document["seal"])
        published = states_of_json(document["published"])
        files = [folder / name for name in published]
        if seal.key != key or file_states(files, inside=folder) != published:
            return None
        newest = newest_results(folder, {})
        is_newest = newest is not None and newest.name == document["results"]
        # reports and comparisons read the newest results
        if not is_newest or not seal.holds(folder):
            return None
        outcome = _from_json(document["outcome"], folder, model, selection)
        page = document["page"]
        earlier = PublishedFiles(
            folder / document["results"], None if page is None else folder / page
        )
        return replace(outcome, seal=seal, published=earlier)
    # the file may be missing, damaged, or of an earlier version
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        log.debug("no outcome is kept (%s)", error)
        return None


def _file(folder: Path, key: str) -> Path:
    return folder / FOLDER / f"{key}.json"


def _remove_oldest(folder: Path) -> None:
    kept = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    for path in kept[:-MOST_KEPT]:
        path.unlink(missing_ok=True)


def _to_json(outcome: RunOutcome) -> dict[str, Any]:
    return {
        "results": [result.to_json() for result in outcome.results],
        "group_results": [result.to_json() for result in outcome.group_results],
        "counts": asdict(_counts_of_next(outcome)),
        "bills": [_bill_to_json(bill) for bill in outcome.bills],
        "findings": [finding.to_json() for finding in outcome.findings],
        "score_sets": {name: path.name for name, path in outcome.score_sets.items()},
        "rows": dict(outcome.rows),
        "metric_device": outcome.metric_device,
        "exit_code": outcome.exit_code,
    }


def _counts_of_next(outcome: RunOutcome) -> RunCounts:
    """Returns the counts that the same command has next: all answers are kept."""
    counts = outcome.counts
    date, _, clock = outcome.started.partition("T")
    since = counts.since or f"{date} {clock.replace('-', ':')}"
    return replace(counts, kept=counts.kept + counts.new, new=0, since=since)


def _from_json(
    row: Mapping[str, Any], folder: Path, model: str, selection: Selection
) -> RunOutcome:
    score_sets: dict[str, Path] = {}
    for task, name in row["score_sets"].items():
        score_sets[task] = folder / "scores" / file_name(task) / name
    return RunOutcome(
        folder=folder,
        model_name=model,
        selection=selection,
        results=tuple(map(Result.from_json, row["results"])),
        group_results=tuple(map(Result.from_json, row["group_results"])),
        counts=RunCounts(**row["counts"]),
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
