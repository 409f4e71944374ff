"""The rows of trials in a run folder, and trials restored from them and the journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmeval.media.parts import Interleaved
from mmeval.records.response import ErrorInfo, Response
from mmeval.records.sample import Sample
from mmeval.records.trial import Exchange, Trial, is_only_answer
from mmeval.store.journal import Journal
from mmeval.store.segment import drop_stored_paths
from mmeval.system.json_lines import to_line


def trial_row(
    trial: Trial, keys: Sequence[str], stores: Sequence[Path]
) -> dict[str, Any]:
    """Returns the record of a trial, without its position and digest.

    The form of the record is described in TaskRecords.

    ``keys`` are the journal keys of its exchanges. Media below ``stores`` are written
    without their path, because their content identifies them.
    """
    calls = zip(trial.exchanges, keys, strict=True)
    row: dict[str, Any] = {
        "x": [[exchange.path, exchange.role, key] for exchange, key in calls]
    }
    if trial.error is not None:
        row["error"] = trial.error.to_json()
    elif trial.output is not None and not is_only_answer(trial):
        row["output"] = written = trial.output.to_json()
        for store in stores:
            drop_stored_paths(written, store)
    failed = {}
    for exchange in trial.exchanges:
        response = exchange.response
        if response.error is not None and response.trace is not None:
            call = {"d": exchange.request_digest, "r": response.to_json()}
            failed[exchange.path] = call
    if failed:
        row["failed"] = failed
    if trial.left_out:
        row["left_out"] = list(trial.left_out)
    return row


def stored_trial(
    row: Mapping[str, Any],
    sample: Sample,
    journal: Journal,
) -> Trial:
    """Restores a trial from its row (see TaskRecords).

    The trial does not contain calls that failed, except failed calls of agents.
    """
    exchanges = tuple(exchange for exchange, _ in stored_exchanges(row, journal))
    left_out = tuple(row.get("left_out", ()))
    trial = Trial(sample, row["n"], exchanges, left_out=left_out)
    error, output = row.get("error"), row.get("output")
    if error is not None:
        return replace(trial, error=ErrorInfo.from_json(error))
    if output is not None:
        return replace(trial, output=Interleaved.from_json(output, journal.media.root))
    if not exchanges:
        lost = ErrorInfo("internal", "its answer is no longer in the journal")
        return replace(trial, error=lost)
    return replace(trial, output=exchanges[0].response.output)


def stored_exchanges(
    row: Mapping[str, Any], journal: Journal
) -> Iterator[tuple[Exchange, bytes]]:
    """Yields the calls of a trial in order, each with the JSON of its response.

    The calls are those with an answer, and the failed calls of agents. Failures are not
    in the journal. The failure of an agent has a trace, so it is in the trial's row.
    """
    failed = row.get("failed", {})
    for path, role, key in row["x"]:
        if path in failed:
            written = failed[path]["r"]
            response = Response.from_json(written, journal.media.root)
            exchange = Exchange(path, role, failed[path]["d"], response)
            yield exchange, to_line(written)
        elif (entry := journal.get(key)) is not None:
            yield Exchange(path, role, entry.request_digest, entry.response), entry.line
