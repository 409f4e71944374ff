"""Colours code: splits a text into tokens with the classes of the page, by Pygments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from mmeval.errors import ContentError, MediaLimitError
from mmeval.media.decode.code import code_words
from mmeval.media.decode.limits import DecodeLimits

MAX_CODE = 20_000
"""A text with more characters is not coloured."""
MAX_LINE = 2_000
"""A text with a longer line is not coloured, because matching patterns in such a line
may take long."""
MAX_BATCH = 100_000
"""The number of characters that are coloured together."""
LIMITS = DecodeLimits(max_step_seconds=0.5)
"""The time limit is short, because a page is readable without colours."""
MOST_REFUSED = 3
"""After this number of texts that take too long, no further text is coloured: the texts
may be hostile."""

_FENCE = re.compile(r"\s*(?:```|~~~)[ \t]*+([\w+#.-]{0,30})[^\n]*\n")
_FENCE_END = re.compile(r"\n(?:```|~~~)\s*\Z")
_LOOKS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (language, re.compile(pattern, re.MULTILINE))
    for language, pattern in (
        (
            "python",
            r"\A#![^\n]*python|^(?:def \w++\([^)\n]*+\)[^:\n]*+:|class \w[^:\n]*+:|"
            r"import \w|from [\w.]++ import )",
        ),
        ("bash", r"\A#!(?:[^\n]*[/ ])?(?:ba|z|da)?sh\b"),
        ("html", r"(?i)\A\s*<(?:!doctype html|html|head|body|div|p|svg)\b"),
        ("xml", r"\A\s*<\?xml"),
        (
            "c++",
            r"^[^\S\n]*#include\s*<(?:iostream|vector|string|map|algorithm)>|\bstd::",
        ),
        ("c", r"^[^\S\n]*#include\s*[<\"]"),
        (
            "java",
            r"^[^\S\n]*(?:public|private|protected)\s+(?:static\s+|final\s+)*(?:class|"
            r"void|interface)\b",
        ),
        ("go", r"^package \w+\s*$"),
        ("rust", r"^[^\S\n]*(?:pub )?fn \w[^{\n]*+\{"),
        ("sql", r"\A\s*(?:SELECT|INSERT INTO|CREATE TABLE|UPDATE)\b"),
        (
            "javascript",
            r"^[^\S\n]*(?:const|let|function|export|import)\s.*[;{]\s*$|=>",
        ),
        ("json", r"\A\s*[\[{]\s*(?:\"|\[|\{|\]|\})"),
        ("css", r"^[^\S\n]*[.#]?[\w-]++\s*+\{\s*+[\w-]++\s*+:"),
        ("latex", r"\\(?:documentclass|begin)\{"),
    )
)
"""Patterns that guess the language from the beginning of a text. Trying every lexer of
Pygments would take seconds."""


class _Text(NamedTuple):
    """A text without the lines of its fence, with its language (empty if unknown)."""

    inner: str
    language: str

    @property
    def is_plain(self) -> bool:
        """True if the text is not coloured."""
        if not self.language or len(self.inner) > MAX_CODE:
            return True
        return any(len(line) > MAX_LINE for line in self.inner.splitlines())


class Colours:
    """Colours a report's code. Many texts are coloured at a time, because each call to
    the other process is slow."""

    def __init__(self) -> None:
        self._waiting: list[tuple[dict[str, Any], _Text]] = []
        self._refused = 0

    def later(self, shown: dict[str, Any]) -> None:
        """Queue a part with code. The next ``fill`` adds ``language`` and ``tokens``.
        ``tokens`` are the words in order with their classes; a text with neither a
        fence nor colours has no tokens."""
        inner: str = shown["text"]
        language = ""
        fence = _FENCE.match(inner[:200])
        if fence is not None:
            language = fence[1].lower()
            closed = _FENCE_END.search(inner, max(0, fence.end() - 1))
            end = len(inner) if closed is None else closed.start()
            inner = inner[fence.end() : max(fence.end(), end)]
            shown["tokens"] = [("", inner)]
        if not language:
            head = inner[:4_000]
            for known, pattern in _LOOKS:
                if pattern.search(head):
                    language = known
                    break
        text = _Text(inner, language)
        shown["language"] = text.language
        if not text.is_plain:
            self._waiting.append((shown, text))

    def fill(self) -> None:
        """Colour all queued parts."""
        waiting, self._waiting = self._waiting, []
        batch: list[tuple[dict[str, Any], _Text]] = []
        size = 0
        for shown, text in waiting:
            if batch and size + len(text.inner) > MAX_BATCH:
                self._colour(batch)
                batch, size = [], 0
            batch.append((shown, text))
            size += len(text.inner)
        if batch:
            self._colour(batch)

    def _colour(self, batch: Sequence[tuple[dict[str, Any], _Text]]) -> None:
        """Colour texts by the language of their fence, or else by the guessed language.
        If all texts together exceed the time limit, each text is coloured alone."""
        if self._refused >= MOST_REFUSED:
            return
        try:
            words_by_text = code_words([text for _, text in batch], limits=LIMITS)
        except (MediaLimitError, ContentError) as error:
            if len(batch) > 1:
                for item in batch:
                    self._colour([item])
            elif isinstance(error, MediaLimitError):
                self._refused += 1
            return
        for (shown, text), words in zip(batch, words_by_text, strict=True):
            if words is not None and "".join(word for _, word in words) == text.inner:
                shown["tokens"] = words
