"""Lists the prompts of a run on its page: whose words they are in, and their texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from mmeval.results.stored_run import StoredRun

MAX_TEXT = 20_000
"""A longer text is cut on the page."""
_WHOSE = {"own": "own words", "released": "the authors' words", "user": "user's words"}
_DIGEST_SHOWN = 12


def prompt_rows(
    run: StoredRun, label: str = "", *, with_released: bool = False
) -> Iterator[dict[str, Any]]:
    """Yields the prompts of a run as rows for the template of the page.

    ``label`` is the name of the run if the page has several. The texts are those of the
    run's record. A released text is included only on request, because its licence may
    not allow that the page is shared with it.
    """
    texts: dict[str, str] = {}
    for config in run.record.get("tasks", {}).values():
        for text in _texts(config):
            texts[_sha256(text)] = text
    for name, row in run.ours.get("prompts", {}).items():
        is_shown = with_released or row["words"] != "released"
        text = texts.get(row["sha256"], "") if is_shown else ""
        yield {
            "name": f"{label}, {name}" if label else name,
            "whose": _WHOSE[row["words"]],
            "digest": _short(row["sha256"]),
            "places": [_place(released) for released in row.get("texts", ())],
            "text": text[:MAX_TEXT],
        }


def _texts(config: Mapping[str, Any]) -> Iterator[str]:
    """Yields the texts of the prompts in a recorded task."""
    for prompts in config.get("judge_prompts", {}).values():
        for prompt in prompts.values():
            yield prompt if isinstance(prompt, str) else prompt["text"]
    protocol = config.get("protocol")
    options = list(protocol.values()) if isinstance(protocol, Mapping) else []
    for prompt in (*options, config.get("task_prompt")):
        if isinstance(prompt, Mapping) and isinstance(prompt.get("text"), str):
            yield prompt["text"]


def _place(text: Mapping[str, str]) -> str:
    """Returns the id, the place and the digest of a released text."""
    source = f"{text['source']}@{_short(text['commit'])}"
    return f"{text['id']}: {source}, {text['path']}, SHA-256 {_short(text['sha256'])}"


def _short(digest: str) -> str:
    return digest[:_DIGEST_SHOWN]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
