"""Code in colour: the words of a text by their kinds, as Pygments finds them, in a few classes that the page knows."""

from __future__ import annotations

import re
from typing import NamedTuple

from mmeval.decode.code import TokenClass, code_words
from mmeval.decode.limits import DecodeLimits
from mmeval.errors import ContentError, MediaLimitError

MAX_CODE = 20_000
"""Characters that are coloured; a longer text stays plain."""
MAX_LINE = 2_000
"""Characters of a line: beyond, patterns may take long."""
LIMITS = DecodeLimits(max_step_seconds=0.5)
"""Colours are worth no more."""
MOST_REFUSED = 3
"""Texts that took too long, after which all others stay plain: somebody has written them for that."""

_FENCE = re.compile(r"\s*(?:```|~~~)[ \t]*([\w+#.-]{1,30})[^\n]*\n")
_FENCE_END = re.compile(r"\n(?:```|~~~)\s*\Z")
_LOOKS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (language, re.compile(pattern, re.MULTILINE))
    for language, pattern in (
        ("python", r"\A#![^\n]*python|^(?:def \w+\(.*\).*:|class \w+.*:|import \w+|from [\w.]+ import )"),
        ("bash", r"\A#!(?:[^\n]*[/ ])?(?:ba|z|da)?sh\b"),
        ("html", r"(?i)\A\s*<(?:!doctype html|html|head|body|div|p|svg)\b"),
        ("xml", r"\A\s*<\?xml"),
        ("c++", r"^\s*#include\s*<(?:iostream|vector|string|map|algorithm)>|\bstd::"),
        ("c", r"^\s*#include\s*[<\"]"),
        ("java", r"^\s*(?:public|private|protected)\s+(?:static\s+|final\s+)*(?:class|void|interface)\b"),
        ("go", r"^package \w+\s*$"),
        ("rust", r"^\s*(?:pub )?fn \w+.*\{"),
        ("sql", r"\A\s*(?:SELECT|INSERT INTO|CREATE TABLE|UPDATE)\b"),
        ("javascript", r"^\s*(?:const|let|function|export|import)\s.*[;{]\s*$|=>"),
        ("json", r"\A\s*[\[{]\s*(?:\"|\[|\{|\]|\})"),
        ("css", r"^\s*[.#]?[\w-]+\s*\{\s*[\w-]+\s*:"),
        ("latex", r"\\(?:documentclass|begin)\{"),
    )
)
"""What the beginning of a text says of its language; asking every lexer of Pygments would take seconds."""


class Coloured(NamedTuple):
    """The language (empty: unknown), and the words in order with their classes; None: the text stays plain."""

    language: str
    tokens: list[tuple[TokenClass, str]] | None


class Colours:
    """Colours texts of one report."""

    def __init__(self) -> None:
        self._refused = 0

    def of(self, text: str) -> Coloured:
        """A text by the language that its fence declares, else by the one that it looks like."""
        fence = _FENCE.match(text[:200])
        name = fence[1].lower() if fence else _look(text)
        if not name or len(text) > MAX_CODE or any(len(line) > MAX_LINE for line in text.splitlines()):
            return Coloured(name, None)
        start = fence.end() if fence else 0
        closed = _FENCE_END.search(text, max(0, start - 1)) if fence else None
        end = closed.start() if closed else len(text)
        found = self._words(text[start:end], name)
        if found is None:
            return Coloured(name, None)
        around: tuple[tuple[TokenClass, str], ...] = (("comment", text[:start]), ("comment", text[end:]))
        tokens = [token for token in (around[0], *found, around[1]) if token[1]]
        return Coloured(name, tokens if "".join(word for _, word in tokens) == text else None)

    def _words(self, text: str, language: str) -> list[tuple[TokenClass, str]] | None:
        if self._refused >= MOST_REFUSED:
            return None
        try:
            return code_words(text, language, limits=LIMITS)
        except MediaLimitError:
            self._refused += 1
        except ContentError:
            pass  # a lexer may fail in any way on what a model writes; the text is shown without colours
        return None


def _look(text: str) -> str:
    head = text[:4_000]
    return next((language for language, pattern in _LOOKS if pattern.search(head)), "")
