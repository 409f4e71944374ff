"""Run folders, results files and rows of scores, written without a run: as large and as
odd as a test of their readers wants them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmeval.aggregate import Estimate
from mmeval.aggregate.aggregators import mean
from mmeval.aggregate.combination import mean_of
from mmeval.aggregate.scores import AggregatedNumber, Scores
from mmeval.aggregate.summary import summarise
from mmeval.records.score import FORMAT_VERSION
from mmeval.report.table_formats import TABLES
from mmeval.results.numbers import number_rows
from mmeval.results.stored_run import StoredRun
from mmeval.results.task_results import fill
from mmeval.system.json_lines import sealed, sealed_document, to_line, unsealed
from mmeval.tasks.unim.domains import DOMAINS
from mmeval.tasks.unim.tables.pool import NUMBERS

# Run folders written line by line, without a run: as large and as odd as a test of
# their readers wants them.

Json = dict[str, Any]
SCORE_SET = "0123456789ab"


@dataclass
class WrittenTrial:
    """One trial of a written run: what was asked, answered and scored. ``answer`` is
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
    trials: Iterable[WrittenTrial],
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


def _add(files: tuple[list[Json], ...], task: str, at: int, told: WrittenTrial) -> None:
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


# Score rows, and run folders that hold them: as many and as odd as a test of a
# benchmark's tables wants them.

BREAKDOWN = ("field", "domain", "difficulty", "capabilities", "combination")
Row = dict[str, Any]
Samples = Mapping[str, Mapping[str, Any]]
"""Metadata by sample id."""


def labels(domain: str = "math", level: str = "easy", **more: Any) -> Row:
    field = next(
        (one.field for one in DOMAINS if domain in one.words), "natural_science"
    )
    return {
        "field": field,
        "domain": domain,
        "difficulty": level,
        "capabilities": [],
        "combination": "I->I",
        **more,
    }


def score(value: float | str) -> Row:
    return (
        {"value": None, "status": value, "reason": f"{value} for a test"}
        if isinstance(value, str)
        else {"value": value, "status": "scored"}
    )


def trial(
    sample: str,
    given: Mapping[str, float | str] | float | str,
    of: Row,
    *,
    repeat: int = 0,
) -> Row:
    """``given``: numbers, or one for all those of UniM, or the word ``failed``,
    ``unsupported`` or ``bad_sample``."""
    row: Row = {
        "n": repeat,
        "s": sample,
        "d": "d",
        "status": "ok",
        "scores": {},
        "labels": of,
    }
    if isinstance(given, str):
        kind = "timeout" if given == "failed" else given
        status = "unsupported" if given == "unsupported" else "failed"
        return {
            **row,
            "status": status,
            "error": {"kind": kind, "message": "for a test"},
        }
    values = given if isinstance(given, Mapping) else dict.fromkeys(NUMBERS, given)
    return {**row, "scores": {name: score(value) for name, value in values.items()}}


def trials(answers: Iterable[Mapping[str, Row] | str]) -> list[Row]:
    """A trial for each: its scores by number, or what became of it."""
    row = {"n": 0, "d": "d", "status": "ok", "scores": {}}
    fates: Iterable[Row] = (
        {"status": one, "error": {"kind": one, "message": "for a test"}}
        if isinstance(one, str)
        else {"scores": one}
        for one in answers
    )
    return [{**row, "s": f"s{at}", **fate} for at, fate in enumerate(fates)]


def stored(
    folder: Path,
    tasks: Mapping[str, Iterable[Row]],
    samples: Samples | None = None,
    *,
    layout: str = "unim",
    numbers: Sequence[str] = NUMBERS,
    **ours: Any,
) -> StoredRun:
    """The folder of a run with these rows by task, read back; ``ours`` is what its
    results say beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    shared = {"loader": layout, "layout": layout, "breakdown": BREAKDOWN}
    configs = {
        name: {"task": name, "task_alias": name.removeprefix("mmmg_"), **shared}
        for name in tasks
    }
    (folder / "run.json").write_bytes(
        sealed_document(
            {"format": FORMAT_VERSION, "tasks": configs, "options": {"model_name": "m"}}
        )
    )
    for name, rows in tasks.items():
        (scores := folder / "scores" / name / SCORE_SET).mkdir(parents=True)
        with (scores / "scores.jsonl").open("wb") as file:
            file.writelines(
                sealed(to_line({"i": at, **row})) for at, row in enumerate(rows)
            )
        _write_samples(folder / "samples" / f"{name}.jsonl", samples or {})
    document = {
        "group_subtasks": {name: [] for name in tasks},
        "mmeval": _ours(tasks, numbers) | ours,
    }
    (folder / "results_2026-01-31T12-00-00.json").write_bytes(sealed_document(document))
    return StoredRun(folder)


def numbers_of(
    task: str,
    rows: Iterable[Row],
    pieces: Sequence[str],
    whole: str,
    how: Callable[..., Estimate] = mean,
    options: Mapping[str, Any] | None = None,
    *,
    skip: bool = False,
    suspended: Sequence[str] = (),
) -> list[Row]:
    """The numbers of a task, as the results file has them: those of its ``pieces``, and
    ``whole``, the mean of these."""
    columns = {piece: Scores(range=(0, 1)) for piece in pieces}
    fill(columns, ({"i": at, **row} for at, row in enumerate(rows)))
    parts = []
    for piece, column in columns.items():
        result = summarise(
            task, piece, column, how, options, suspended=piece in suspended
        )
        parts.append(AggregatedNumber(result, column, how, options or {}))
    made = mean_of(task, whole, parts, skip=skip)
    return [result.to_json() for result in (*(part.result for part in parts), made)]


def _write_samples(file: Path, samples: Samples) -> None:
    file.parent.mkdir(exist_ok=True)
    rows = (
        {"id": name, "input": [], "references": [], "metadata": dict(known)}
        for name, known in samples.items()
    )
    file.write_bytes(
        b"".join(
            sealed(to_line({"i": at, "sample": row})) for at, row in enumerate(rows)
        )
    )


def _ours(tasks: Iterable[str], numbers: Sequence[str]) -> Row:
    metrics = {
        name: {"outputs": [name], "range": [0, 1], "switches": {}} for name in numbers
    }
    return {
        "results": [],
        "metrics": dict.fromkeys(tasks, metrics),
        "score_sets": dict.fromkeys(tasks, SCORE_SET),
        "protocols": dict.fromkeys(tasks, "single"),
    }


# Results files as small as a test of tables and charts needs them, and their tables.


def result(
    task: str, metric: str = "m", value: float | None = 0.5, **more: Any
) -> dict[str, Any]:
    return {"task": task, "metric": metric, "value": value, "n": 4, "scored": 4, **more}


def document(
    *results: dict[str, Any], groups: dict[str, list[str]] | None = None, **ours: Any
) -> dict[str, Any]:
    tasks = dict.fromkeys(row["task"] for row in results)
    return {
        "results": {name: {"alias": name.upper()} for name in tasks},
        "group_subtasks": {
            **(groups or {}),
            **{name: [] for name in tasks if name not in (groups or {})},
        },
        "versions": dict.fromkeys(tasks, "1.0"),
        "mmeval": {"results": list(results), **ours},
    }


ONE = document(
    result("a", value=0.5, stderr=0.125, ci95=[0.25, 0.75]),
    result("a", value=None, scored=0, unscored=4, slice="level=50% & \\more{}"),
)
TWO = document(result("a", value=0.75), protocols={"a": "episode"})


def table(name: str, *documents: dict[str, Any]) -> str:
    found = TABLES[name]
    names = ["one", "two"][: len(documents)]
    rows = number_rows(documents, names, every_slice=found.every_slice)
    return found.render(rows, names)
