"""Code in colour: a text's words in the few classes of the page, by Pygments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from mmeval.errors import ContentError, MediaLimitError
from mmeval.media.decode.code import code_words
from mmeval.media.decode.limits import DecodeLimits

MAX_CODE = 20_000
"""Characters that are coloured; a longer text stays plain."""
MAX_LINE = 2_000
"""Characters of a line: beyond, patterns may take long."""
MAX_BATCH = 100_000
"""Characters that are coloured together."""
LIMITS = DecodeLimits(max_step_seconds=0.5)
"""Colours are worth no more."""
MOST_REFUSED = 3
"""Texts that took too long, after which all others stay plain: they may be made for
that."""

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
"""What the beginning of a text says of its language; asking every lexer of Pygments
would take seconds."""


class _Text(NamedTuple):
    """A text without the lines of its fence, with its language (empty: unknown)."""

    inner: str
    language: str

    @property
    def is_plain(self) -> bool:
        """Whether it stays without colours, whatever is in it."""
        if not self.language or len(self.inner) > MAX_CODE:
            return True
        return any(len(line) > MAX_LINE for line in self.inner.splitlines())


class Colours:
    """Colours a report's code, many texts at a time, as each call of a process
    costs."""

    def __init__(self) -> None:
        self._waiting: list[tuple[dict[str, Any], _Text]] = []
        self._refused = 0

    def later(self, shown: dict[str, Any]) -> None:
        """Add its ``language`` and ``tokens`` to a part of code with the next ``fill``.
        ``tokens`` are words in order with their classes; a text that has neither a
        fence nor colours gets none."""
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
        """Colour all that waits."""
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
        """Colour texts by the language of their fence, else by the one they look like.
        Where some are too much together, each is asked for alone."""
        if self._refused >= MOST_REFUSED:
            return
        try:
            found = code_words([text for _, text in batch], limits=LIMITS)
        except (MediaLimitError, ContentError) as error:
            if len(batch) > 1:
                for one in batch:
                    self._colour([one])
            elif isinstance(error, MediaLimitError):
                self._refused += 1
            return
        for (shown, text), words in zip(batch, found, strict=True):
            if words is not None and "".join(word for _, word in words) == text.inner:
                shown["tokens"] = words
