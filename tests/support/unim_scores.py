"""Score rows of UniM, and run folders that hold them: as many and as odd as a test of its tables wants them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.results.stored_run import StoredRun
from mmeval.system.json_lines import to_line
from mmeval.tasks.unim.domains import DOMAINS, LEVELS
from mmeval.tasks.unim.tables.items import TITLES
from mmeval.tasks.unim.tables.pool import NUMBERS

SET = "0123456789ab"
BREAKDOWN = ("field", "domain", "difficulty", "capabilities", "combination")
SAMPLES = sum(domain.total for domain in DOMAINS)
Row = dict[str, Any]
Samples = Mapping[str, Mapping[str, Any]]
"""Metadata by sample id."""


def labels(domain: str = "math", level: str = "easy", **more: Any) -> Row:
    """The labels of a sample of a domain."""
    field = next((one.field for one in DOMAINS if domain in one.words), "natural_science")
    return {"field": field, "domain": domain, "difficulty": level, "capabilities": [], "combination": "I->I", **more}


def score(value: float | str) -> Row:
    """A number as a score row has it; a word is the status of one that has no value."""
    return (
        {"value": None, "status": value, "reason": f"{value} for a test"}
        if isinstance(value, str)
        else {"value": value, "status": "scored"}
    )


def trial(sample: str, given: Mapping[str, float | str] | float | str, of: Row, *, repeat: int = 0) -> Row:
    """A trial: its numbers, one value for all of them, or the word ``failed``, ``unsupported`` or ``bad_sample``."""
    row: Row = {"i": 0, "n": repeat, "s": sample, "d": "d", "status": "ok", "scores": {}, "labels": of}
    if isinstance(given, str):
        kind = "timeout" if given == "failed" else given
        status = "unsupported" if given == "unsupported" else "failed"
        return {**row, "status": status, "error": {"kind": kind, "message": "for a test"}}
    values = given if isinstance(given, Mapping) else dict.fromkeys(NUMBERS, given)
    return {**row, "scores": {name: score(value) for name, value in values.items()}}


def random_trials(count: int = SAMPLES, seed: int = 1) -> Iterator[Row]:
    """Trials of the data set's size and make-up, with every way in which one may lack a number."""
    chance = random.Random(seed)
    places = [(d, level) for d in DOMAINS for level in LEVELS for _ in range(d.count(level))]
    combinations = [f"{a}->{b}" for a in ("I", "A", "I+A", "D", "V", "I+D", "3D") for b in ("I", "A", "I+A", "D", "C")]
    for at in range(count):
        domain, level = places[at * len(places) // count]
        able = chance.sample([f"C{n}" for n in range(1, 11)], chance.randrange(5))
        of = labels(domain.name, level, capabilities=able, combination=chance.choice(combinations))
        yield trial(f"{domain.field}/{domain.name}/{at}", _random_scores(chance, domain.number), of)


def _random_scores(chance: random.Random, number: int) -> dict[str, float | str] | str:
    """Domains differ in what is supported; of the fifth nothing is."""
    if number == 5 or chance.random() < number / 60:
        return "unsupported"
    if chance.random() < 0.02:
        return chance.choice(("failed", "bad_sample"))
    found: dict[str, float | str] = {name: round(chance.random(), 3) for name in NUMBERS}
    if all(isinstance(found[name], float) for name in ("holistic_coherence", "stylistic_harmony")):
        found["interleaved_coherence"] = 0.8 * found["holistic_coherence"] + 0.2 * found["stylistic_harmony"]  # type: ignore[operator]
    for name in NUMBERS:
        if chance.random() < 0.01:
            found[name] = "unscored"
    return found


def with_items(rows: Iterable[Row], seed: int = 1) -> Iterator[Row]:
    """Trials with what the metrics of quality say of their answers: most have a text, pictures and a sound, a few the
    rest; every item with as many terms as a sound has."""
    chance = random.Random(seed)
    for row in rows:
        if row["status"] == "ok":
            row = {**row, "scores": {**row["scores"], **{name: _of_items(chance, name) for name in TITLES}}}  # noqa: PLW2901
        yield row


def _of_items(chance: random.Random, name: str) -> Row:
    count = {"text_quality": 1, "image_quality": chance.randrange(4), "audio_quality": chance.randrange(3)}.get(
        name, int(chance.random() < 0.1)
    )
    if not count:
        return {"value": None, "status": "inapplicable", "reason": f"the answer has no {TITLES[name]} to look at"}
    qualities = [round(chance.random(), 3) for _ in range(count)]
    items = [
        {"label": f"{TITLES[name]}{at}", "quality": one, **{f"term{n}": chance.random() for n in range(20)}}
        for at, one in enumerate(qualities, 1)
    ]
    return {"value": sum(qualities) / count, "status": "scored", "evidence": {"items": items}}


def stored(folder: Path, tasks: Mapping[str, Iterable[Row]], samples: Samples | None = None, **ours: Any) -> StoredRun:
    """A run folder with the score rows of some tasks, read back. ``ours`` is what its results file says."""
    folder.mkdir(parents=True, exist_ok=True)
    configs = {name: {"task": name, "task_alias": name, "loader": "unim", "layout": "unim"} for name in tasks}
    for config in configs.values():
        config["breakdown"] = list(BREAKDOWN)  # type: ignore[assignment]
    (folder / "run.json").write_text(json.dumps({"format": 1, "tasks": configs, "options": {"model_name": "m"}}))
    for name, rows in tasks.items():
        (scores := folder / "scores" / name / SET).mkdir(parents=True)
        with (scores / "scores.jsonl").open("wb") as file:
            file.writelines(to_line({**row, "i": at}) + b"\n" for at, row in enumerate(rows))
        _write_samples(folder / "samples" / f"{name}.jsonl", samples or {})
    document = {"group_subtasks": {name: [] for name in tasks}, "mmeval": _ours(list(tasks), ours)}
    (folder / "results_2026-01-31T12-00-00.json").write_text(json.dumps(document))
    return StoredRun(folder)


def _write_samples(file: Path, samples: Samples) -> None:
    file.parent.mkdir(exist_ok=True)
    rows = ({"id": name, "input": [], "references": [], "metadata": dict(known)} for name, known in samples.items())
    file.write_bytes(b"".join(to_line({"i": at, "sample": row}) + b"\n" for at, row in enumerate(rows)))


def _ours(tasks: Sequence[str], given: Mapping[str, Any]) -> Row:
    metrics = {name: {"outputs": [name], "range": [0, 1], "switches": {}} for name in NUMBERS}
    return {
        "results": [],
        "metrics": dict.fromkeys(tasks, metrics),
        "score_sets": dict.fromkeys(tasks, SET),
        "protocols": dict.fromkeys(tasks, "single"),
        **given,
    }
