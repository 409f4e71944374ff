"""Run folders written line by line, without a run: as large and as odd as a test of their readers wants them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmeval.system.json_lines import to_line

Json = dict[str, Any]
SCORE_SET = "0123456789ab"


@dataclass
class Told:
    """One trial as a test tells it: what was asked, answered and scored. ``answer`` is None where the call failed with
    ``error``; ``steps`` are further calls after the first, as (role, parts)."""

    asked: list[Json]
    answer: list[Json] | None
    scores: Json = field(default_factory=lambda: {"right": {"value": 1.0, "status": "scored"}})
    sample: str = ""
    references: list[list[Json]] = field(default_factory=list)
    metadata: Json = field(default_factory=dict)
    labels: Json | None = None
    error: Json | None = None
    reply: Json = field(default_factory=dict)
    steps: list[tuple[str, list[Json]]] = field(default_factory=list)
    verdicts: list[Json] = field(default_factory=list)


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def write_run(
    folder: Path,
    trials: Iterable[Told],
    *,
    task: str = "told",
    config: Mapping[str, Any] | None = None,
    results: Mapping[str, Any] | None = None,
    model: str = "teller",
) -> Path:
    """Write the folder of a run of one task. ``config`` is added to its task file, ``results`` to what the results file
    says under ``mmeval``; None writes no results file."""
    for name in ("journal", "media", "samples", "trials", f"scores/{task}/{SCORE_SET}"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    record = {
        "format": 1,
        "mmeval": "0.1.0",
        "created": "2026-01-31T12:00:00+0000",
        "options": {"model": "reference", "model_name": model, "limit": None},
        "settings": {},
        "tasks": {task: {"task": task, **(config or {})}},
        "finished": True,
        "sessions": [{"started": "2026-01-31T12:00:00+0000", "command": "mmeval --tasks told"}],
    }
    (folder / "run.json").write_bytes(json.dumps(record).encode())
    count = _write_lines(folder, task, trials)
    if results is not None:
        document = results_document(task, count, results)
        (folder / "results_2026-01-31T12-00-00.000000.json").write_bytes(json.dumps(document).encode())
    return folder


def _write_lines(folder: Path, task: str, trials: Iterable[Told]) -> int:
    count = 0
    scored = folder / "scores" / task / SCORE_SET
    with (
        (folder / "journal" / "told-1.jsonl").open("wb") as journal,
        (folder / "samples" / f"{task}.jsonl").open("wb") as samples,
        (folder / "trials" / f"{task}.jsonl").open("wb") as made,
        (scored / "scores.jsonl").open("wb") as scores,
        (scored / "verdicts.jsonl").open("wb") as verdicts,
    ):
        for at, told in enumerate(trials):
            count += 1
            name = told.sample or f"sample {at}"
            asked = [{"role": "user", "content": told.asked}]
            sample = {"id": name, "input": asked, "references": told.references, "metadata": told.metadata}
            samples.write(to_line({"i": at, "d": f"{at:032x}", "sample": sample}) + b"\n")
            replies = [] if told.answer is None else [("model", told.answer), *told.steps]
            keys = [(str(number), role, f"{task}/{at}/0#{number}") for number, (role, _) in enumerate(replies)]
            for (_, _, key), (_, parts) in zip(keys, replies, strict=True):
                reply = {"latency": 0.25, "output": parts, "usage": [10, 20], "served": "teller-1", **told.reply}
                journal.write(to_line({"k": key, "d": f"{at:032x}", "to": [], "t": 1769860800.0, "r": reply}) + b"\n")
            row: Json = {"i": at, "n": 0, "d": f"{at:032x}", "x": keys}
            made.write(to_line({**row, **({"error": told.error} if told.error else {})}) + b"\n")
            status = "failed" if told.error else "ok"
            line: Json = {"i": at, "n": 0, "s": name, "d": f"{at:032x}", "status": status, "scores": told.scores}
            scores.write(to_line(line if told.labels is None else {**line, "labels": told.labels}) + b"\n")
            for number, verdict in enumerate(told.verdicts):
                key = f"{task}/{at}/0/score#{number}"
                reply = {"latency": 0.5, "output": verdict.get("parts", [])}
                journal.write(to_line({"k": key, "d": "0" * 32, "to": [], "t": 1769860800.0, "r": reply}) + b"\n")
                verdicts.write(to_line({"i": at, "n": 0, "path": str(number), "key": key, **verdict}) + b"\n")
    return count


def results_document(task: str, count: int, ours: Mapping[str, Any]) -> Json:
    """A results file in which everything was scored with 0.5."""
    number = {"task": task, "metric": "right", "value": 0.5, "n": count, "scored": count, "stderr": 0.1}
    return {
        "results": {task: {"alias": task}},
        "group_subtasks": {task: []},
        "versions": {task: "1.0"},
        "n-samples": {task: {"original": count, "effective": count}},
        "model_name": "teller",
        "mmeval": {
            "results": [{**number, "ci95": [0.4, 0.6], "bounds": [0.5, 0.5], "clusters": count}],
            "protocols": {task: "single"},
            "metrics": {task: {"right": {"outputs": ["right"], "range": [0, 1], "version": "1"}}},
            "score_sets": {task: SCORE_SET},
            "not_comparable": [],
            **ours,
        },
    }
