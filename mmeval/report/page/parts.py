"""Converts parts of prompts, references, answers and replies for the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from mmeval.media.media import kind_for
from mmeval.report.page.code import Colours
from mmeval.report.page.places import SHOWN, Places
from mmeval.report.page.previews import Previews, too_large

MAX_TEXT = 20_000
"""The number of characters of a text that the page shows."""
MAX_KNOWN = 20_000
"""The number of media whose places are cached.

The same picture is often in many samples."""

_DIGEST = re.compile(r"[0-9a-f]{32,128}(?:\.\w{1,8})?", re.IGNORECASE)
_TEXTS = frozenset({"text", "code", "reasoning"})


class PartWriter:
    """Converts parts of a run folder into parts of details files. The next
    ``colours.fill()`` adds language and tokens to code."""

    def __init__(
        self,
        places: Places,
        previews: Previews,
        colours: Colours,
    ) -> None:
        self._places, self._previews, self._colours = places, previews, colours
        self._known: dict[tuple[Any, ...], dict[str, Any]] = {}

    def parts(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [self.part(row) for row in rows]

    def part(self, row: Mapping[str, Any]) -> dict[str, Any]:
        kind = str(row["type"])
        text, media = row.get("text"), row.get("media")
        if media is not None:
            shown = dict(self._medium(kind, media))
        elif text is None:
            raw = str(row.get("raw", ""))[:200]
            shown = {"kind": kind, "dangling": True, "raw": raw}
        else:
            kind, text = kind if kind in _TEXTS else "text", str(text)
            shown = {"kind": kind, "text": text[:MAX_TEXT]}
            if len(text) > MAX_TEXT:
                shown["note"] = f"the first {MAX_TEXT:,} of {len(text):,} characters"
            if kind == "code":
                self._colours.later(shown)
        if row.get("label"):
            shown["label"] = str(row["label"])[:200]
        return shown

    def waveform(self, row: Mapping[str, Any]) -> str:
        """Returns the peaks of a part with a sound; see ``Previews.waveform``. The
        result is empty if its file is missing or has changed."""
        record = row.get("media")
        media = None if record is None else self._places.place(record).media
        return "" if media is None else self._previews.waveform(media)

    def _medium(self, kind: str, row: Mapping[str, Any]) -> dict[str, Any]:
        key = (kind, *map(row.get, ("sha256", "path", "mime", "name")))
        shown = self._known.get(key)
        if shown is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            shown = self._known[key] = self._look(kind, row)
        return shown

    def _look(self, kind: str, row: Mapping[str, Any]) -> dict[str, Any]:
        mime = str(row.get("mime", ""))
        name = str(row.get("name", ""))
        shown: dict[str, Any] = {
            "kind": kind,
            # the medium's own name; empty if it is only a digest
            "name": "" if _DIGEST.fullmatch(name) else name[:300],
            "mime": mime[:100],
            "size": row.get("size", 0),
            "sha256": str(row.get("sha256", ""))[:64],
            "src": "",
            "note": "",
        }
        place = self._places.place(row)
        if place.media is None:
            return {**shown, "note": place.note}
        is_code = kind == "code" and kind_for(mime) == "document"
        if kind not in ("document", kind_for(mime)) and not is_code:
            return {**shown, "note": f"not shown: {mime} is not a type of {kind}"}
        if mime not in SHOWN.get(kind, ()):
            return shown | self._previews.of(place.media)
        note = too_large(place.media) if kind == "image" else ""
        return {**shown, "src": "" if note else place.src, "note": note}
