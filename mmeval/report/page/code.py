"""Code in colour: the words of a text by their kinds, as Pygments finds them, in a few classes that the page knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal, NamedTuple

TokenClass = Literal["keyword", "name", "builtin", "string", "number", "comment", "operator", ""]

MAX_CODE = 20_000
"""Characters that are coloured; a longer text stays plain."""
MAX_LINE = 2_000
"""Characters of a line: beyond, patterns may take long."""
MAX_TOKENS = 5_000

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


def coloured(text: str) -> Coloured:
    """A text by the language that its fence declares, else by the one that it looks like."""
    fence = _FENCE.match(text[:200])
    name = fence[1].lower() if fence else _look(text)
    if not name or len(text) > MAX_CODE or any(len(line) > MAX_LINE for line in text.splitlines()):
        return Coloured(name, None)
    lexer = _lexer(name)
    if lexer is None:
        return Coloured(name, None)
    start = fence.end() if fence else 0
    closed = _FENCE_END.search(text, max(0, start - 1)) if fence else None
    end = closed.start() if closed else len(text)
    try:
        found = list(_merged(lexer.get_tokens_unprocessed(text[start:end])))
    except Exception:  # a lexer may fail in any way on what a model writes; the text is shown without colours
        return Coloured(name, None)
    around: tuple[tuple[TokenClass, str], ...] = (("comment", text[:start]), ("comment", text[end:]))
    tokens = [token for token in (around[0], *found, around[1]) if token[1]]
    whole = len(tokens) <= MAX_TOKENS and "".join(word for _, word in tokens) == text
    return Coloured(name, tokens if whole else None)


def _look(text: str) -> str:
    head = text[:4_000]
    return next((language for language, pattern in _LOOKS if pattern.search(head)), "")


@lru_cache(maxsize=32)
def _lexer(name: str) -> Any:
    """A lexer of Pygments (untyped) by one of its names; None where it has none."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _merged(found: Any) -> Iterator[tuple[TokenClass, str]]:
    """Neighbours of one class as one."""
    last: TokenClass = ""
    words: list[str] = []
    for _, kind, word in found:
        own = _class_of(kind)
        if own != last and words:
            yield last, "".join(words)
            words = []
        last = own
        words.append(word)
    if words:
        yield last, "".join(words)


@lru_cache(maxsize=256)
def _class_of(kind: Any) -> TokenClass:
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    classes: tuple[tuple[Any, TokenClass], ...] = (
        (Comment, "comment"),
        (Keyword, "keyword"),
        (Operator.Word, "keyword"),
        (Operator, "operator"),
        (Number, "number"),
        (String, "string"),
        (Name.Builtin, "builtin"),
        (Name.Function, "name"),
        (Name.Class, "name"),
        (Name.Tag, "name"),
        (Name.Decorator, "name"),
        (Name.Attribute, "builtin"),
    )
    return next((name for parent, name in classes if kind in parent), "")
