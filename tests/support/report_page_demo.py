"""A report with a trial of every kind of part, every status, labels, scores, replies of
a judge, and steps."""

from pathlib import Path
from typing import Any

from tests.support.report_folder import STATUSES, Row, cube, medium, text, write
from tests.support.tiny_media import picture, wav

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
