"""Parts of prompts, references, answers and replies as the page shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from mmeval.media.media import kind_for
from mmeval.report.page.code import Colours
from mmeval.report.page.places import SHOWN, Places
from mmeval.report.page.previews import Previews, too_large

MAX_TEXT = 20_000
"""Characters of a text that the page shows."""
MAX_KNOWN = 20_000
"""Media whose places are remembered: the same picture is often in many samples."""

_DIGEST = re.compile(r"[0-9a-f]{32,128}(?:\.\w{1,8})?", re.IGNORECASE)
_TEXTS = frozenset({"text", "code", "reasoning"})


class PartWriter:
    """Turns parts of a run folder into parts of details files.
    Code gets its language and words with the next ``colours.fill()``."""

    def __init__(self, places: Places, previews: Previews, colours: Colours) -> None:
        self._places, self._previews, self._colours = places, previews, colours
        self._known: dict[tuple[Any, ...], dict[str, Any]] = {}

    def parts(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [self.part(row) for row in rows]

    def part(self, row: Mapping[str, Any]) -> dict[str, Any]:
        kind, text, media = str(row["type"]), row.get("text"), row.get("media")
        if media is not None:
            shown = self._medium(kind, media)
        elif text is None:
            shown = {
                "kind": kind,
                "dangling": True,
                "raw": str(row.get("raw", ""))[:200],
            }
        else:
            shown = self._words(kind if kind in _TEXTS else "text", str(text))
        return (
            {**shown, "label": str(row["label"])[:200]} if row.get("label") else shown
        )

    def _words(self, kind: str, text: str) -> dict[str, Any]:
        shown: dict[str, Any] = {"kind": kind, "text": text[:MAX_TEXT]}
        if len(text) > MAX_TEXT:
            shown["note"] = f"the first {MAX_TEXT:,} of {len(text):,} characters"
        if kind == "code":
            self._colours.later(shown)
        return shown

    def _medium(self, kind: str, row: Mapping[str, Any]) -> dict[str, Any]:
        key = (
            kind,
            row.get("sha256"),
            row.get("path"),
            row.get("mime"),
            row.get("name"),
        )
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[key] = self._look(kind, row)
        return known

    def _look(self, kind: str, row: Mapping[str, Any]) -> dict[str, Any]:
        mime = str(row.get("mime", ""))
        shown: dict[str, Any] = {
            "kind": kind,
            "name": _given_name(row),
            "mime": mime[:100],
            "size": row.get("size", 0),
            "sha256": str(row.get("sha256", ""))[:64],
            "src": "",
            "note": "",
        }
        place = self._places.place(row)
        if place.media is None:
            return {**shown, "note": place.note}
        if kind != "document" and kind_for(mime) not in (
            kind,
            "document" if kind == "code" else kind,
        ):
            return {**shown, "note": f"it is no {kind} but {mime}, and is not shown"}
        if mime in SHOWN.get(kind, ()):
            note = too_large(place.media) if kind == "image" else ""
            return {**shown, "src": "" if note else place.src, "note": note}
        return {**shown, **self._previews.of(place.media)}


def _given_name(row: Mapping[str, Any]) -> str:
    """The name given to a medium; empty for one known only by its digest."""
    name = str(row.get("name", ""))
    return "" if _DIGEST.fullmatch(name) else name[:300]
