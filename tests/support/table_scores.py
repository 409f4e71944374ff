"""Score rows, and run folders that hold them: as many and as odd as a test of a
benchmark's tables wants them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.aggregate import Estimate
from mmeval.aggregate.aggregators import mean
from mmeval.aggregate.combination import mean_of
from mmeval.aggregate.scores import Averaged, Scores
from mmeval.aggregate.summary import summarise
from mmeval.records.score import FORMAT_VERSION
from mmeval.results.stored_run import StoredRun
from mmeval.results.task_results import fill
from mmeval.system.json_lines import sealed, sealed_document, to_line
from mmeval.tasks.unim.domains import DOMAINS
from mmeval.tasks.unim.tables.pool import NUMBERS

SET = "0123456789ab"
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
        (scores := folder / "scores" / name / SET).mkdir(parents=True)
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
        parts.append(Averaged(result, column, how, options or {}))
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
        "score_sets": dict.fromkeys(tasks, SET),
        "protocols": dict.fromkeys(tasks, "single"),
    }
