"""A trial in full, as the page shows it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mmeval.records.response import finish_reason_from, worst_finish
from mmeval.report.page.parts import MAX_TEXT, PartWriter
from mmeval.results.stored_run import StoredTrial, TaskRow
from mmeval.store.journal import Journal

MAX_ITEMS = 2_000
"""Items of one list or mapping of evidence, metadata and the like that are shown."""
MAX_DEPTH = 40
GONE = {"kind": "internal", "message": "its answer is no longer in the journal"}


@dataclass(frozen=True)
class ShownExchange:
    """A trial's call and its reply (None: the call failed, or its reply is gone from
    the journal)."""

    path: str
    role: str
    found: TaskRow | None

    @property
    def reply(self) -> TaskRow:
        return {} if self.found is None else self.found


def exchanges(trial: StoredTrial, journal: Journal) -> list[ShownExchange]:
    """The calls of a trial, without the unmade one that ends an unsupported trial."""
    failed = trial.row.get("failed", {})
    found = [
        ShownExchange(
            str(path),
            str(role),
            failed[path]["r"] if path in failed else _reply(journal, key),
        )
        for path, role, key in trial.row["x"]
    ]
    if (trial.row.get("error") or {}).get("kind") == "unsupported":
        return [exchange for exchange in found if exchange.found is not None]
    return found


def _reply(journal: Journal, key: str) -> TaskRow | None:
    line = journal.row(key)
    return None if line is None else line["r"]


def output_of(
    trial: StoredTrial, made: Iterable[ShownExchange]
) -> list[TaskRow] | None:
    """The parts of the answer; None where there is none."""
    if "error" in trial.row:
        return None
    if "output" in trial.row:
        own: list[TaskRow] = trial.row["output"]
        return own
    first = next((exchange for exchange in made if exchange.found is not None), None)
    return None if first is None else first.reply.get("output")


def error_of(trial: StoredTrial, output: object) -> TaskRow | None:
    error: TaskRow | None = trial.row.get("error")
    return error if error is not None else GONE if output is None else None


def details(
    trial: StoredTrial,
    made: list[ShownExchange],
    output: list[TaskRow] | None,
    labels: Mapping[str, Any],
    *,
    outputs: Mapping[str, str],
    journal: Journal,
    writer: PartWriter,
) -> dict[str, Any]:
    """What is written of a trial.
    ``outputs`` says of each metric under which number its verdicts stand."""
    sample = trial.sample
    is_output = len(made) == 1 and "output" not in trial.row
    # nothing in it can be too long, so nothing has to be looked through
    whole = trial.size <= MAX_TEXT
    return {
        "input": [
            {"role": m["role"], "parts": writer.parts(m["content"])}
            for m in sample["input"]
        ],
        "references": [writer.parts(answer) for answer in sample["references"]],
        "output": None if output is None else writer.parts(output),
        "error": _error(error_of(trial, output)),
        "warnings": _warnings(made),
        "finish": _finish(made),
        "scores": list(_scores(trial, outputs, journal, writer, whole=whole)),
        "steps": [
            _step(exchange, journal, writer, is_output=is_output) for exchange in made
        ],
        "labels": labels if whole else bounded(labels),
        "metadata": sample["metadata"] if whole else bounded(sample["metadata"]),
        **(
            {"candidates": [writer.parts(content) for content in sample["candidates"]]}
            if "candidates" in sample
            else {}
        ),
    }


def bounded(value: Any, depth: int = 0) -> Any:
    """A value of JSON with its long texts and lists cut, each which is marked."""
    if isinstance(value, str):
        return (
            value
            if len(value) <= MAX_TEXT
            else f"{value[:MAX_TEXT]}… ({len(value):,} characters)"
        )
    if depth == MAX_DEPTH and isinstance(value, (Mapping, list)):
        return "…"
    if isinstance(value, Mapping):
        kept = {
            str(k)[:MAX_TEXT]: bounded(v, depth + 1)
            for k, v in list(value.items())[:MAX_ITEMS]
        }
        return (
            kept if len(value) <= MAX_ITEMS else {**kept, "…": f"{len(value):,} in all"}
        )
    if isinstance(value, list):
        items = [bounded(item, depth + 1) for item in value[:MAX_ITEMS]]
        return (
            items if len(value) <= MAX_ITEMS else [*items, f"… ({len(value):,} in all)"]
        )
    return value


def _error(error: TaskRow | None) -> dict[str, str] | None:
    if error is None:
        return None
    message = str(error.get("message", ""))
    if reply := error.get("reply"):
        message += f"; the reply was {reply!r}"
    return {"kind": str(error.get("kind", "")), "message": message[:MAX_TEXT]}


def _warnings(made: Iterable[ShownExchange]) -> list[str]:
    found = (
        str(text)[:MAX_TEXT]
        for exchange in made
        for text in exchange.reply.get("warnings", ())
    )
    return list(dict.fromkeys(found))


def _finish(made: Iterable[ShownExchange]) -> str:
    """How the model's answer ended, where that is not simply its end."""
    ended = worst_finish(
        finish_reason_from(exchange.reply.get("finish_reason"))
        for exchange in made
        if exchange.role == "model"
    )
    return "" if ended == "stop" else ended


def _step(
    exchange: ShownExchange,
    journal: Journal,
    writer: PartWriter,
    *,
    is_output: bool = False,
    title: str = "",
) -> dict[str, Any]:
    reply = exchange.reply
    parts: list[dict[str, Any]] | None = (
        None if is_output else writer.parts(reply.get("output", ()))
    )
    lost = {
        "kind": "internal",
        "message": "it failed, or its reply is no longer in the journal",
    }
    return {
        "path": exchange.path,
        "role": exchange.role,
        "title": title[:MAX_TEXT],
        "served": str(reply.get("served", "")),
        "seconds": reply.get("latency", 0.0),
        "tokens": list(reply.get("usage", (0, 0)))[:2],
        "finish": finish_reason_from(reply.get("finish_reason")),
        "parts": parts if exchange.found is not None else [],
        "error": lost if exchange.found is None else _error(reply.get("error")),
        **_traced(reply, journal, writer),
    }


def _traced(reply: TaskRow, journal: Journal, writer: PartWriter) -> dict[str, Any]:
    """The steps of an agent on its way to a reply, and its evidence; nothing for any
    other reply."""
    if "trace" not in reply:
        return {}
    steps = []
    for step in reply["trace"]["steps"]:
        found = _reply(journal, str(step.get("key", "")))
        if "error" in step:
            found = {"error": step["error"], "latency": step["seconds"]}
        made = ShownExchange(str(step["path"]), str(step["role"]), found)
        steps.append(_step(made, journal, writer, title=str(step.get("title", ""))))
    return {"steps": steps, "evidence": bounded(reply["trace"]["evidence"])}


def _scores(
    trial: StoredTrial,
    outputs: Mapping[str, str],
    journal: Journal,
    writer: PartWriter,
    *,
    whole: bool,
) -> Iterator[dict[str, Any]]:
    if trial.scores is None:
        return
    verdicts: dict[str, list[TaskRow]] = {}
    for row in trial.verdicts:
        verdicts.setdefault(
            outputs.get(str(row["metric"]), str(row["metric"])), []
        ).append(row)
    for name, score in trial.scores["scores"].items():
        evidence = score.get("evidence", {})
        yield {
            "name": name,
            "status": score.get("status", "scored"),
            "value": score.get("value"),
            "reason": str(score.get("reason", ""))[:MAX_TEXT],
            "bounds": score.get("bounds"),
            "evidence": evidence if whole else bounded(evidence),
            "verdicts": [
                _verdict(row, journal, writer) for row in verdicts.get(name, ())
            ],
        }


def _verdict(row: TaskRow, journal: Journal, writer: PartWriter) -> dict[str, Any]:
    line = journal.row(str(row.get("key", "")))
    return {
        "path": str(row.get("path", "")),
        "role": str(row.get("role", "")),
        "asked": str(row.get("asked", "")),
        "served": " ".join(
            filter(None, (str(row.get("served", "")), str(row.get("fingerprint", ""))))
        ),
        "at": _moment(row.get("at")),
        "seconds": row.get("latency", 0.0),
        "tokens": list(row.get("usage", (0, 0)))[:2],
        "error": str(row.get("error", "")),
        "parts": [] if line is None else writer.parts(line["r"].get("output", ())),
        **({} if line is None else _traced(line["r"], journal, writer)),
    }


def _moment(at: Any) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(at)))
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
