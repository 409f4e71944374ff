"""Whose words a prompt is in, and the places of its released texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Words = Literal["own", "released", "user"]
"""``own``: words of mmeval or of the task file. ``released``: words that the authors of
a benchmark released. ``user``: words from a folder that the user chose."""


@dataclass(frozen=True)
class ReleasedText:
    """A released text: its id and digest, and where it is published."""

    id: str
    sha256: str
    source: str
    """The repository, such as ``OWNER/NAME``."""
    commit: str
    path: str

    def to_json(self) -> dict[str, str]:
        return asdict(self)


def words_of(prompt: Mapping[str, Any]) -> Words:
    """Returns whose words a recorded prompt is in."""
    if "released" in prompt:
        return "released"
    return "user" if prompt.get("words") == "user" else "own"


def without_text(prompt: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a recorded prompt without its text, for results that leave this machine.

    The digests of the prompt and of its released texts remain.
    """
    row: dict[str, Any] = {"sha256": prompt["sha256"], "words": words_of(prompt)}
    for name in ("assembled", "texts"):
        if name in prompt:
            row[name] = prompt[name]
    return row


def without_released_texts(record: Any) -> Any:
    """Returns a JSON record whose released prompts have ids and digests only.

    Without a licence, these texts may not leave the run folder.
    """
    if isinstance(record, dict):
        items = dict(record)
        if "released" in items:
            items.pop("text", None)
        return {name: without_released_texts(item) for name, item in items.items()}
    if isinstance(record, list):
        return [without_released_texts(item) for item in record]
    return record
