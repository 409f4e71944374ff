"""Converts an answer for its tile in the gallery: its first lines and its first medium.

A gallery shows many answers at once, so a tile has at most a few hundred bytes. The
whole answer is in the details of its trial.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mmeval.results.stored_run import TaskRow

MAX_TEXT = 240
MAX_LINES = 8
"""The largest number of lines of a text or of code that a tile shows."""
_WRITTEN = frozenset({"text", "code"})


def tile(
    output: Sequence[TaskRow] | None,
    parts: Sequence[Mapping[str, Any]] | None,
    error: Mapping[str, Any] | None,
    waveform: Callable[[TaskRow], str],
) -> dict[str, Any]:
    """Returns the tile of an answer as JSON values, without empty ones.

    ``output`` are the parts of the answer as they are stored, and ``parts`` the same
    parts as the page shows them. ``waveform`` returns the peaks of a stored sound. The
    result has ``text`` (with ``is_code`` if it is code), ``medium`` and ``more``, the
    number of further media. A trial without an answer has ``error``.
    """
    shown: dict[str, Any] = {}
    if error is not None:
        message = f"{error.get('kind', '')}: {error.get('message', '')}"
        shown["error"] = first_lines(message[: 2 * MAX_TEXT])
    texts: list[str] = []
    media = 0
    has_text = False
    for row, part in zip(output or (), parts or (), strict=True):
        kind = part["kind"]
        if kind == "reasoning":
            continue
        text = str(part.get("text") or "").strip()
        if text and not has_text:
            has_text = True
            shown["is_code"] = kind == "code"
        if text:
            texts.append("\n" if kind == "code" else " ")
            # longer than what is shown, so that an ellipsis marks the cut
            texts.append(text[: 2 * MAX_TEXT])
        if kind in _WRITTEN and not part.get("sha256"):
            continue
        media += 1
        texts.append(f" [{kind}]")
        if media == 1:
            peaks = waveform(row) if kind == "audio" else ""
            shown["medium"] = _medium(part, peaks)
    if has_text:  # without a text, the names of media would only repeat their icons
        shown["text"] = first_lines("".join(texts))
    shown["more"] = max(0, media - 1)
    return _without_empty(shown)


def first_lines(text: str) -> str:
    """Returns the beginning of a text. An ellipsis marks that the text continues."""
    lines = text.strip().splitlines()
    start = "\n".join(lines[:MAX_LINES])[:MAX_TEXT]
    return f"{start}…" if len(start) < len(text.strip()) else start


def _medium(part: Mapping[str, Any], peaks: str) -> dict[str, Any]:
    pages = part.get("pages") or [""]
    medium = {
        "kind": part["kind"],
        "name": part.get("label") or part.get("name") or "",
        "src": part.get("src") or pages[0],
        "peaks": peaks,
        "note": part.get("note") or "",
    }
    if part.get("dangling"):
        medium["note"] = "placeholder without its file"
    return _without_empty(medium)


def _without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}
