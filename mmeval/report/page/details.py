"""Converts a trial with all its details for the page."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mmeval.records.response import finish_reason_from, worst_finish
from mmeval.report.page.parts import MAX_TEXT, PartWriter
from mmeval.results.stored_run import StoredTrial, TaskRow
from mmeval.store.journal import Journal

MAX_ITEMS = 2_000
"""The number of items of one list or mapping that are shown, for example in evidence or
metadata."""
MAX_DEPTH = 40
GONE = {"kind": "internal", "message": "its answer is no longer in the journal"}


@dataclass(frozen=True)
class ShownExchange:
    """A call of a trial, and the row of its reply. The row is None if the call failed,
    or if the journal no longer contains its reply."""

    path: str
    role: str
    row: TaskRow | None

    @property
    def reply(self) -> TaskRow:
        return {} if self.row is None else self.row


def exchanges(trial: StoredTrial, journal: Journal) -> list[ShownExchange]:
    """Returns the calls of a trial. The last call of an unsupported trial is left out,
    because that call was never sent."""
    failed = trial.row.get("failed", {})
    is_unsupported = (trial.row.get("error") or {}).get("kind") == "unsupported"
    calls = []
    for path, role, key in trial.row["x"]:
        reply = failed[path]["r"] if path in failed else _reply(journal, key)
        if reply is not None or not is_unsupported:
            calls.append(ShownExchange(str(path), str(role), reply))
    return calls


def _reply(journal: Journal, key: str) -> TaskRow | None:
    line = journal.row(key)
    return None if line is None else line["r"]


def output_of(
    trial: StoredTrial, calls: Iterable[ShownExchange]
) -> list[TaskRow] | None:
    """Returns the parts of the answer, or None without an answer."""
    if "error" in trial.row:
        return None
    if "output" in trial.row:
        output: list[TaskRow] = trial.row["output"]
        return output
    for exchange in calls:
        if exchange.row is not None:
            return exchange.row.get("output")
    return None


def error_of(trial: StoredTrial, output: object) -> TaskRow | None:
    error: TaskRow | None = trial.row.get("error")
    if error is None and output is None:
        return GONE
    return error


def details(
    trial: StoredTrial,
    calls: list[ShownExchange],
    output: list[TaskRow] | None,
    labels: Mapping[str, Any],
    *,
    outputs: Mapping[str, str],
    journal: Journal,
    writer: PartWriter,
) -> dict[str, Any]:
    """Returns a trial as JSON values for the page. ``outputs`` maps each metric to the
    number that shows its verdicts."""
    sample = trial.sample
    is_output = len(calls) == 1 and "output" not in trial.row
    # a small trial has no long text, so nothing has to be cut
    whole = trial.size <= MAX_TEXT
    messages = []
    for message in sample["input"]:
        parts = writer.parts(message["content"])
        messages.append({"role": message["role"], "parts": parts})
    shown: dict[str, Any] = {
        "input": messages,
        "references": [writer.parts(answer) for answer in sample["references"]],
        "output": None if output is None else writer.parts(output),
        "error": _error(error_of(trial, output)),
        "warnings": [],
        "finish": "",
        "scores": _scores(trial, outputs, journal, writer, whole=whole),
        "steps": [],
        "labels": labels if whole else bounded(labels),
        "metadata": sample["metadata"] if whole else bounded(sample["metadata"]),
    }
    warnings: dict[str, None] = {}
    ends = []
    for exchange in calls:
        for text in exchange.reply.get("warnings", ()):
            warnings[str(text)[:MAX_TEXT]] = None
        if exchange.role == "model":
            ends.append(finish_reason_from(exchange.reply.get("finish_reason")))
        step = _step(exchange, journal, writer, is_output=is_output)
        shown["steps"].append(step)
    shown["warnings"] = list(warnings)
    # the finish reason of the model's answer, unless it is a plain stop
    finish = worst_finish(ends)
    if finish != "stop":
        shown["finish"] = finish
    if "candidates" in sample:
        candidates = [writer.parts(content) for content in sample["candidates"]]
        shown["candidates"] = candidates
    return shown


def bounded(value: Any, depth: int = 0) -> Any:
    """Returns a JSON value with long texts and lists cut; each cut is marked."""
    if isinstance(value, str):
        if len(value) <= MAX_TEXT:
            return value
        return f"{value[:MAX_TEXT]}… ({len(value):,} characters)"
    if not isinstance(value, (Mapping, list)):
        return value
    if depth == MAX_DEPTH:
        return "…"
    is_cut = len(value) > MAX_ITEMS
    if isinstance(value, Mapping):
        entries = {}
        for name, item in islice(value.items(), MAX_ITEMS):
            entries[str(name)[:MAX_TEXT]] = bounded(item, depth + 1)
        if is_cut:
            entries["…"] = f"{len(value):,} in all"
        return entries
    items = [bounded(item, depth + 1) for item in value[:MAX_ITEMS]]
    if is_cut:
        items.append(f"… ({len(value):,} in all)")
    return items


def _error(error: TaskRow | None) -> dict[str, str] | None:
    if error is None:
        return None
    message = str(error.get("message", ""))
    reply = error.get("reply")
    if reply:
        message += f"; the reply was {reply!r}"
    return {"kind": str(error.get("kind", "")), "message": message[:MAX_TEXT]}


def _step(
    exchange: ShownExchange,
    journal: Journal,
    writer: PartWriter,
    *,
    is_output: bool = False,
    title: str = "",
) -> dict[str, Any]:
    reply = exchange.reply
    parts: list[dict[str, Any]] | None = []
    error = _error(reply.get("error"))
    if exchange.row is None:
        message = "it failed, or its reply is no longer in the journal"
        error = {"kind": "internal", "message": message}
    else:
        parts = None if is_output else writer.parts(reply.get("output", ()))
    return {
        "path": exchange.path,
        "role": exchange.role,
        "title": title[:MAX_TEXT],
        "served": str(reply.get("served", "")),
        "seconds": reply.get("latency", 0.0),
        "tokens": list(reply.get("usage", (0, 0)))[:2],
        "finish": finish_reason_from(reply.get("finish_reason")),
        "parts": parts,
        "error": error,
        **_traced(reply, journal, writer),
    }


def _traced(
    reply: TaskRow,
    journal: Journal,
    writer: PartWriter,
) -> dict[str, Any]:
    """Returns the steps of an agent before its reply, and its evidence, or an empty
    mapping for any other reply."""
    if "trace" not in reply:
        return {}
    steps = []
    for step in reply["trace"]["steps"]:
        row = _reply(journal, str(step.get("key", "")))
        if "error" in step:
            row = {"error": step["error"], "latency": step["seconds"]}
        step_call = ShownExchange(str(step["path"]), str(step["role"]), row)
        title = str(step.get("title", ""))
        steps.append(_step(step_call, journal, writer, title=title))
    return {"steps": steps, "evidence": bounded(reply["trace"]["evidence"])}


def _scores(
    trial: StoredTrial,
    outputs: Mapping[str, str],
    journal: Journal,
    writer: PartWriter,
    *,
    whole: bool,
) -> list[dict[str, Any]]:
    if trial.scores is None:
        return []
    verdicts: dict[str, list[TaskRow]] = {}
    for row in trial.verdicts:
        metric = str(row["metric"])
        verdicts.setdefault(outputs.get(metric, metric), []).append(row)
    shown = []
    for name, score in trial.scores["scores"].items():
        evidence = score.get("evidence", {})
        shown_verdicts = [
            _verdict(row, journal, writer) for row in verdicts.get(name, ())
        ]
        row = {
            "name": name,
            "status": score.get("status", "scored"),
            "value": score.get("value"),
            "reason": str(score.get("reason", ""))[:MAX_TEXT],
            "bounds": score.get("bounds"),
            "evidence": evidence if whole else bounded(evidence),
            "verdicts": shown_verdicts,
        }
        shown.append(row)
    return shown


def _verdict(
    row: TaskRow,
    journal: Journal,
    writer: PartWriter,
) -> dict[str, Any]:
    reply = _reply(journal, str(row.get("key", ""))) or {}
    served = f"{row.get('served', '')} {row.get('fingerprint', '')}"
    try:
        moment = time.localtime(float(row.get("at", "")))
        judged_at = time.strftime("%Y-%m-%d %H:%M:%S", moment)
    except (TypeError, ValueError, OverflowError, OSError):
        judged_at = ""
    return {
        "path": str(row.get("path", "")),
        "role": str(row.get("role", "")),
        "asked": str(row.get("asked", "")),
        "served": served.strip(),
        "at": judged_at,
        "seconds": row.get("latency", 0.0),
        "tokens": list(row.get("usage", (0, 0)))[:2],
        "error": str(row.get("error", "")),
        "parts": writer.parts(reply.get("output", ())),
        **_traced(reply, journal, writer),
    }
