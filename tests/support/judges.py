"""Judges for tests from outside: mock servers that answer each form of reply as they
are told."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.mock_openai_server import MockServer

REPLIES = (
    {"met": "yes"},
    {"verdict": "yes"},
    {"grade": 4},
    {"choice": "good"},
    {"score": 4},
    {"coherence": 4, "style_consistency": 5},
    {"criteria_met": True},
)
OF_ISG = {
    '"Judge": <a number': {"Judge": 9},
    '"Judge": <"yes" or "no">': {"Judge": "Yes"},
    '"overall_score": <': {"overall_score": 8},
}
"""What it says on the levels of ISG-Bench, by words of the form."""


@contextmanager
def judge_server(
    folder: Path, says: Mapping[str, Any] | None = None, **options: Any
) -> Iterator[MockServer]:
    """A judge. ``says`` maps words of a prompt to what it replies to prompts that hold
    them; an object is the JSON of its reply. All other prompts get one of
    ``REPLIES``."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "replies.jsonl"
    own = says or {}
    usual = {**OF_ISG, **{f'"{next(iter(values))}": <': values for values in REPLIES}}
    told = [
        {"contains": words, "reply": _written(said)}
        for words, said in {**own, **usual, **own}.items()
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in told))
    with MockServer(replies=str(file), **options) as server:
        yield server


def _written(said: Any) -> str:
    """As models like to write: with prose around it, in a fence."""
    return (
        said
        if isinstance(said, str)
        else f"Let me see.\n```json\n{json.dumps({'reason': 'so', **said})}\n```"
    )


def judge(server: MockServer, name: str = "j", **more: str) -> tuple[str, ...]:
    """The flags that name a judge of a server."""
    arguments = ",".join(
        f"{key}={value}" for key, value in {"model": name, **more}.items()
    )
    return ("--judge", f"openai,{arguments}", "--judge_base_url", server.url)
