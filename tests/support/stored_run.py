"""Run folders written line by line, without a run: as large and as odd as a test of
their readers wants them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmeval.records.score import FORMAT_VERSION
from mmeval.system.json_lines import sealed, sealed_document, to_line, unsealed

Json = dict[str, Any]
SCORE_SET = "0123456789ab"


@dataclass
class Told:
    """One trial as a test tells it: what was asked, answered and scored. ``answer`` is
    None where the call failed with ``error``; ``steps`` are further calls after the
    first, as (role, parts). ``place`` is that of its sample in the data set, by default
    that of the trial, and ``digest`` that of its sample, by default made of the
    place."""

    asked: list[Json]
    answer: list[Json] | None
    scores: Json = field(
        default_factory=lambda: {"right": {"value": 1.0, "status": "scored"}}
    )
    sample: str = ""
    references: list[list[Json]] = field(default_factory=list)
    metadata: Json = field(default_factory=dict)
    labels: Json | None = None
    error: Json | None = None
    reply: Json = field(default_factory=dict)
    steps: list[tuple[str, list[Json]]] = field(default_factory=list)
    verdicts: list[Json] = field(default_factory=list)
    repeat: int = 0
    place: int | None = None
    digest: str = ""
    cluster: str = ""
    refused: bool = False


def rewritten(file: Path, **changes: Any) -> None:
    """Change the only row of a file, as mmeval would have written it."""
    file.write_bytes(sealed(to_line({**unsealed(file.read_bytes()), **changes})))


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
    identity: Mapping[str, Any] | None = None,
) -> Path:
    """Write the folder of a run of one task. ``config`` is added to its task file,
    ``results`` to what the results file says under ``mmeval``; None writes no results
    file. ``identity`` is that of the run."""
    record = {
        **{
            "format": FORMAT_VERSION,
            "mmeval": "0.1.0",
            "created": "2026-01-31T12:00:00+0000",
            "settings": {},
            "finished": True,
        },
        "identity": identity or {},
        "options": {"model": "reference", "model_name": model, "limit": None},
        "tasks": {task: {"task": task, **(config or {})}},
        "sessions": [
            {"started": "2026-01-31T12:00:00+0000", "command": "mmeval --tasks told"}
        ],
    }
    scored = f"scores/{task}/{SCORE_SET}"
    names = (
        f"samples/{task}",
        f"trials/{task}",
        "journal/told-1",
        f"{scored}/scores",
        f"{scored}/verdicts",
    )
    files: dict[str, list[Json]] = {name: [] for name in names}
    for at, told in enumerate(trials):
        _add(tuple(files.values()), task, at, told)
    (folder / "media").mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        (folder / f"{name}.jsonl").parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.jsonl").write_bytes(
            b"".join(sealed(to_line(row)) for row in rows)
        )
    (folder / "run.json").write_bytes(sealed_document(record))
    if results is not None:
        document = results_document(task, len(files[names[0]]), results)
        (folder / "results_2026-01-31T12-00-00.000000.json").write_bytes(
            sealed_document(document)
        )
    return folder


def _add(files: tuple[list[Json], ...], task: str, at: int, told: Told) -> None:
    samples, made, journal, scores, verdicts = files

    def kept(key: str, reply: Json) -> None:
        journal.append(
            {"k": key, "d": f"{at:032x}", "to": [], "t": 1769860800.0, "r": reply}
        )

    at = at if told.place is None else told.place
    repeat = told.repeat
    name = told.sample or f"sample {at}"
    asked = [{"role": "user", "content": told.asked}]
    sample = {
        "id": name,
        "input": asked,
        "references": told.references,
        "metadata": told.metadata,
    }
    if not any(row["i"] == at for row in samples[-1:]):
        samples.append({"i": at, "d": told.digest or f"{at:032x}", "sample": sample})
    replies = [] if told.answer is None else [("model", told.answer), *told.steps]
    keys = [
        (str(number), role, f"{task}/{at}/{repeat}#{number}")
        for number, (role, _) in enumerate(replies)
    ]
    for (_, _, key), (_, parts) in zip(keys, replies, strict=True):
        kept(
            key,
            {
                "latency": 0.25,
                "output": parts,
                "usage": [10, 20],
                "served": "teller-1",
                **told.reply,
            },
        )
    row: Json = {"i": at, "n": repeat, "d": f"{at:032x}"}
    made.append({**row, "x": keys, **({"error": told.error} if told.error else {})})
    labels = {} if told.labels is None else {"labels": told.labels}
    scores.append(
        {
            **row,
            "s": name,
            "status": "failed" if told.error else "ok",
            **({"refused": True} if told.refused else {}),
            "scores": told.scores,
            **labels,
        }
    )
    scores[-1].update({"cluster": told.cluster} if told.cluster else {})
    for number, verdict in enumerate(told.verdicts):
        key = f"{task}/{at}/{repeat}/score#{number}"
        kept(key, {"latency": 0.5, "output": verdict.get("parts", [])})
        verdicts.append(
            {"i": at, "n": repeat, "path": str(number), "key": key, **verdict}
        )


def results_document(task: str, count: int, ours: Mapping[str, Any]) -> Json:
    """A results file in which everything was scored with 0.5."""
    number = {
        "task": task,
        "metric": "right",
        "value": 0.5,
        "n": count,
        "scored": count,
        "stderr": 0.1,
    }
    return {
        **{
            "results": {task: {"alias": task}},
            "group_subtasks": {task: []},
            "versions": {task: "1.0"},
        },
        **{
            "n-samples": {task: {"original": count, "effective": count}},
            "model_name": "teller",
        },
        "mmeval": {
            "results": [
                {**number, "ci95": [0.4, 0.6], "bounds": [0.5, 0.5], "clusters": count}
            ],
            "metrics": {
                task: {"right": {"outputs": ["right"], "range": [0, 1], "version": "1"}}
            },
            **{
                "protocols": {task: "single"},
                "score_sets": {task: SCORE_SET},
                "not_comparable": [],
                **ours,
            },
        },
    }
