"""Splits code into words with their kinds, in the decoding process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

from mmeval.media.decode.apart import Step, steps_apart
from mmeval.media.decode.limits import DEFAULT_LIMITS, DecodeLimits
from mmeval.media.media import Media

TokenClass = Literal[
    "keyword", "name", "builtin", "string", "number", "comment", "operator", ""
]
MAX_TOKENS = 5_000
Words = list[tuple[TokenClass, str]]


def code_words(
    texts: Sequence[tuple[str, str]], *, limits: DecodeLimits = DEFAULT_LIMITS
) -> list[Words | None]:
    """The words of each of ``texts``, (text, language), in order with their classes.

    None where no lexer knows the language, where one fails, and where it finds more
    than MAX_TOKENS words. All are read in one step: raises MediaLimitError where they
    take more than ``limits`` allow together, or the process crashes.
    """
    data = json.dumps(texts).encode()
    media = Media(data=data, mime="application/json", size=len(data), name="code")
    for step in steps_apart("mmeval.media.decode.code:word_steps", media, data, limits):
        found: list[Words | None] = json.loads(step.buffers[0])
        return [
            None if words is None else [(kind, word) for kind, word in words]
            for words in found
        ]
    return [None] * len(texts)


def word_steps(media: Media, _limits: DecodeLimits) -> Iterator[Step]:
    """One step: the words of all texts as JSON. Runs in the decoding process."""
    texts: list[tuple[str, str]] = json.loads(media.read())
    for language in {language for _, language in texts}:
        _lexer(language)

    def words() -> Iterator[Step]:
        yield Step(
            {},
            (
                json.dumps(
                    [_words(text, language) for text, language in texts]
                ).encode(),
            ),
        )

    return words()


def _words(text: str, language: str) -> Words | None:
    lexer = _lexer(language)
    if lexer is None:
        return None
    try:
        kept = list(islice(_merged(lexer.get_tokens_unprocessed(text)), MAX_TOKENS + 1))
    except MemoryError:
        raise
    except Exception:  # a lexer may raise anything on what a model writes
        return None
    return kept if len(kept) <= MAX_TOKENS else None


@lru_cache(maxsize=200)
def _lexer(name: str) -> Any:
    """A lexer of Pygments (untyped) by one of its names; None where it has none."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _merged(found: Any) -> Iterator[tuple[TokenClass, str]]:
    """Join neighbouring words of one class."""
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
