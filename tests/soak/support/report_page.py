"""Report folders without a run: the page as it is shipped, over data that a test makes,
and a demonstration of every kind of part, status and label."""

import base64
import hashlib
import json
import struct
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

import mmeval.report
from mmeval.report.page.pivot import PivotCell, PivotRow, PivotTable
from mmeval.report.page.shell import rendered
from mmeval.report.page.tiles import tile
from tests.support.tiny_media import picture, wav

# A report folder without a run: the page as it is shipped, over data that a test
# makes up.

STATIC = Path(mmeval.report.__file__).parent / "page" / "static"
STATUSES = ("scored", "unscored", "failed", "unsupported", "unavailable")
CHUNK, TEXT_CHUNK, TILE_CHUNK = 100, 2_000, 250
CHART = (
    '<svg class="chart" viewBox="0 0 400 80" role="img" aria-label="one bar">'
    '<line class="axis" x1="100" y1="0" x2="100" y2="80"/>'
    '<text class="label" x="90" y="45" text-anchor="end">field</text>'
    '<rect class="bar series-0" x="100" y="25" width="200" height="30"/></svg>'
)
Json = dict[str, Any]


@dataclass
class Row:
    """A trial: its line in the index, and its details."""

    sample: str
    title: str = ""
    status: str = "scored"
    scores: Mapping[str, float | None] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    details: Json = field(default_factory=dict)
    task: int = 0
    repeat: int = 0
    index: int | None = None
    kinds: str = "text"
    text: str = ""


def write(
    folder: Path,
    rows: Sequence[Row],
    *,
    tasks: Sequence[Json] = (
        {"name": "toy", "alias": "Toy", "run": 0, "comparable": True},
    ),
    runs: Sequence[Json] = (
        {"name": "default", "model": "tiny", "folder": "runs/tiny/default"},
    ),
    lower: Container[str] = (),
    **shell: Any,
) -> Path:
    """The report in ``folder``; what comes back is its index.html. Of the metrics in
    ``lower`` a lower score is better. ``shell`` goes to the template."""
    data = folder / "data"
    for made in (data, folder / "assets"):
        made.mkdir(parents=True)
    for file in STATIC.iterdir():
        if file.suffix != ".jinja":
            (folder / "assets" / file.name).write_bytes(file.read_bytes())
    _script(data / "index.js", "index", _index(rows, tasks, runs, lower))
    for number, start in enumerate(range(0, len(rows), CHUNK)):
        details = [_details(row) for row in rows[start : start + CHUNK]]
        _script(data / f"details-{number:04d}.js", "details", number, details)
    for number, start in enumerate(range(0, len(rows), TEXT_CHUNK)):
        texts = [row.text or row.title for row in rows[start : start + TEXT_CHUNK]]
        _script(data / f"text-{number:04d}.js", "text", number, texts)
    for number, start in enumerate(range(0, len(rows), TILE_CHUNK)):
        tiles = [_tile(row) for row in rows[start : start + TILE_CHUNK]]
        _script(data / f"tiles-{number:04d}.js", "tiles", number, tiles)
    page = folder / "index.html"
    page.write_text(_shell(rows, runs, shell), encoding="utf-8")
    return page


def _script(path: Path, call: str, *values: Any) -> None:
    text = ", ".join(json.dumps(value) for value in values)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    path.write_text(f"mmeval.{call}({text});\n", encoding="ascii")


def _index(
    rows: Sequence[Row],
    tasks: Sequence[Json],
    runs: Sequence[Json],
    lower: Container[str],
) -> Json:
    metrics = sorted({name for row in rows for name in row.scores})
    labels = sorted({name for row in rows for name in row.labels})
    values = {
        name: sorted({row.labels[name] for row in rows if name in row.labels})
        for name in labels
    }
    columns: Json = {
        name: [getattr(row, name) for row in rows]
        for name in ("task", "sample", "repeat", "title", "kinds")
    }
    columns["index"] = [
        at if row.index is None else row.index for at, row in enumerate(rows)
    ]
    columns["status"] = [STATUSES.index(row.status) for row in rows]
    columns["scores"] = {
        name: [row.scores.get(name) for row in rows] for name in metrics
    }
    columns["labels"] = {
        name: [
            values[name].index(row.labels[name]) if name in row.labels else -1
            for row in rows
        ]
        for name in labels
    }
    return {
        **{
            "format": 1,
            "made": "2026-11-20T21:00:00",
            "mmeval": "0.1.0",
            "chunk": CHUNK,
            "text_chunk": TEXT_CHUNK,
            "tile_chunk": TILE_CHUNK,
        },
        **{
            "count": len(rows),
            "runs": list(runs),
            "tasks": [{"headline": "", **task} for task in tasks],
            "statuses": list(STATUSES),
            "rows": columns,
        },
        "metrics": [
            {"name": name, "higher_is_better": name not in lower, "range": [0, 1]}
            for name in metrics
        ],
        "labels": [{"name": name, "values": values[name]} for name in labels],
    }


def _details(row: Row) -> Json:
    scores: list[Json] = [
        {
            "name": name,
            "status": "scored" if value is not None else row.status,
            "value": value,
            "reason": "",
            "bounds": None,
            "evidence": {},
            "verdicts": [],
        }
        for name, value in row.scores.items()
    ]
    return {
        "input": [{"role": "user", "parts": [text(row.title)]}],
        "output": [text(f"The answer to {row.sample}.")],
        **{
            "references": [],
            "error": None,
            "warnings": [],
            "finish": "",
            "scores": scores,
            "steps": [],
        },
        **{"labels": dict(row.labels), "metadata": {}},
        **row.details,
    }


def _tile(row: Row) -> Json:
    details = _details(row)
    output = details["output"]
    return tile(output, output, details["error"], lambda part: part.get("peaks", ""))


def _shell(rows: Sequence[Row], runs: Sequence[Json], given: Mapping[str, Any]) -> str:
    counts = {name: sum(row.status == name for row in rows) for name in STATUSES}
    values: Json = {
        "title": "tiny: toy",
        "made": "2026-11-20 21:00",
        "mmeval": "0.1.0",
        "count": len(rows),
        "runs": [
            {**run, "settings": [{"name": "judge", "value": "none"}]} for run in runs
        ],
        "summary": [
            {
                "name": "",
                "notes": [],
                "lead": [f"The model tiny was asked {len(rows)} samples."],
            }
        ],
        "headlines": [
            {
                "name": "Toy",
                "metric": "accuracy",
                "better": "up",
                "inner": False,
                "href": "#task=toy",
                "beside": None,
                "value": "0.512",
                "interval": "0.490 to 0.530",
                "scored": f"{counts['scored']} of {len(rows)}",
                "zero": 0,
                "at": 51.2,
                "low": 49,
                "high": 53,
            }
        ],
        "answers": [],
        "absent": [],
        "missing": 0,
        "pivots": [
            PivotTable(
                "Numbers",
                "A row is a task.",
                (
                    PivotRow(
                        "Toy",
                        (PivotCell("accuracy", "0.512", "up", "0.490 to 0.530"),),
                        href="#task=toy",
                        version="1.0",
                    ),
                ),
            )
        ],
        "notes": [],
        "layouts": [],
        "prompts": [],
        "plots": [],
        "charts": [
            {
                "title": "By field",
                "text": "",
                "svg": Markup(CHART),
                "narrow": Markup(CHART),
            }
        ],
        **given,
    }
    return rendered(values)


def text(words: str) -> Json:
    return {"kind": "text", "text": words}


def medium(
    folder: Path, kind: str, name: str, content: bytes, mime: str, **more: Any
) -> Json:
    """A part whose file lies beside the report, as that of a run does."""
    path = folder.parent / "media" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    return {
        "kind": kind,
        "label": f"{kind}1",
        "name": name,
        "mime": mime,
        "size": len(content),
        "sha256": digest,
        "src": f"../media/{name}",
        "note": "",
        **more,
    }


def cube(folder: Path, *, points_only: bool = False) -> Json:
    """A part with a mesh that is ready for the viewer."""
    corners = [
        coordinate
        for x in (0, 1)
        for y in (0, 1)
        for z in (0, 1)
        for coordinate in (x, y, z)
    ]
    sides = (
        (0, 1, 3, 2),
        (4, 6, 7, 5),
        (0, 4, 5, 1),
        (2, 3, 7, 6),
        (0, 2, 6, 4),
        (1, 5, 7, 3),
    )
    vertices = struct.pack("<24f", *corners)
    indices = b"".join(
        struct.pack("<6I", a, b, c, a, c, d)
        for a, b, c, d in (() if points_only else sides)
    )
    digest = hashlib.sha256(vertices + indices).hexdigest()
    (folder / "media").mkdir(parents=True, exist_ok=True)
    mesh = {
        "vertices": base64.b64encode(vertices).decode(),
        "faces": base64.b64encode(indices).decode(),
        "box": [[0, 0, 0], [1, 1, 1]],
        "note": "points of the surface" if points_only else "",
    }
    _script(folder / "media" / f"{digest}.js", "mesh", digest, mesh)
    return {
        "kind": "3d",
        "label": "3d1",
        "name": "cube.obj",
        "mime": "model/obj",
        "size": 420,
        "sha256": digest,
        "src": "",
        "note": "",
        "mesh": f"media/{digest}.js",
    }


# A report with a trial of every kind of part, every status, labels, scores, replies
# of a judge, and steps.

TASKS = (
    {"name": "toy", "alias": "Toy", "run": 0, "comparable": True},
    {"name": "toy_hard", "alias": "Toy (hard)", "run": 0, "comparable": False},
)
ROWS = 60
RICH = "#trial=toy/0/0"
"""The trial that has everything."""


def demo(folder: Path) -> Path:
    """Row 0 has everything; of the others row n has status n % 5, task n % 2, field n %
    3, and score n / 100."""
    report = folder / "report"
    rows = [rich(report)] + [plain(number) for number in range(1, ROWS)]
    return write(report, rows, tasks=TASKS, title="tiny: toy")


def plain(number: int) -> Row:
    status = STATUSES[number % 5]
    failed = {
        "output": None,
        "error": {"kind": "timeout", "message": "no answer within 120 s"},
    }
    return Row(
        f"area/{number}",
        f"Question {number}",
        status,
        scores={"accuracy": number / 100 if status == "scored" else None},
        labels={"field": ("art", "law", "music")[number % 3]},
        details=failed if status == "failed" else {},
        task=number % 2,
        kinds="image" if number % 4 == 0 else "text",
        text=f"Question {number} and its hidden word{number}x.",
    )


def rich(report: Path) -> Row:
    image = medium(
        report,
        "image",
        "a.png",
        picture(size=(64, 32), colour=(200, 80, 40)),
        "image/png",
    )
    sound = medium(report, "audio", "a.wav", wav(16_000), "audio/wav")
    page = {
        **image,
        "kind": "document",
        "label": "document1",
        "src": "",
        "pages": [image["src"]],
        "page_count": 3,
    }
    code = {
        "kind": "code",
        "language": "python",
        "text": "def f(): 1",
        "tokens": [["keyword", "def"], ["", " f(): "], ["number", "1"]],
    }
    output = [
        {"kind": "reasoning", "text": "I look at both."},
        text("Here it is: \u202ereversed\u202c"),
        image,
        sound,
        page,
        code,
        cube(report),
        cube(report, points_only=True),
        {"kind": "image", "label": "image3", "dangling": True},
        {
            **image,
            "label": "image4",
            "src": "",
            "note": "it has a DOCTYPE, and is not drawn",
        },
    ]
    details = {
        "input": [
            {"role": "system", "parts": [text("Be brief.")]},
            {"role": "user", "parts": [text("Show it."), image]},
        ],
        "references": [[text("A picture.")]],
        "output": output,
        "warnings": ["audio was converted"],
        "finish": "length",
        "scores": [_score()],
        "steps": [_exchange(role="model", parts=[text("A plan.")])],
        "metadata": {"source": {"page": 3}},
    }
    kinds = "text+image+audio+document+code+3d"
    return Row(
        "area/0",
        "Show everything",
        "scored",
        {"accuracy": 0.5},
        {"field": "art"},
        details,
        kinds=kinds,
    )


def _score() -> dict[str, Any]:
    return {
        "name": "accuracy",
        "status": "scored",
        "value": 0.5,
        "reason": "half of it",
        "bounds": [0, 1],
        "evidence": {
            "found": {"image": 2},
            "long": [{"why": "a\nb", "deep": [1, 2, 3]}],
        },
        "verdicts": [_exchange(role="judge", asked="gpt", parts=[text("Grade: 4")])],
    }


def _exchange(**given: Any) -> dict[str, Any]:
    return {
        "path": "0.1",
        "served": "tiny-1",
        "at": "",
        "seconds": 1.25,
        "tokens": [8, 4],
        "error": "",
        **given,
    }
