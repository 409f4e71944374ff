"""Splits code into words with their classes, in the decoding process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
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
    """Returns the words of each (text, language) in ``texts``, with their classes.

    The results are in the order of ``texts``. A result is None if no lexer knows the
    language, or if the lexer fails or finds more than MAX_TOKENS words. All texts are
    read in one step. Raises MediaLimitError if all texts together exceed ``limits``, or
    if the process crashes.
    """
    data = json.dumps(texts).encode()
    media = Media(data=data, mime="application/json", size=len(data), name="code")
    for step in steps_apart("mmeval.media.decode.code:word_steps", media, data, limits):
        results: list[Words | None] = []
        for words in json.loads(step.buffers[0]):
            if words is None:
                results.append(None)
            else:
                results.append([(kind, word) for kind, word in words])
        return results
    return [None] * len(texts)


def word_steps(media: Media, _limits: DecodeLimits) -> Iterator[Step]:
    """Returns one step: the words of all texts as JSON.

    Runs in the decoding process.
    """
    texts: list[tuple[str, str]] = json.loads(media.read())
    for language in {language for _, language in texts}:
        _lexer(language)

    def words() -> Iterator[Step]:
        results = [_words(text, language) for text, language in texts]
        yield Step({}, (json.dumps(results).encode(),))

    return words()


def _words(text: str, language: str) -> Words | None:
    """Returns the words with their classes.

    Adjacent words of one class are joined.
    """
    lexer = _lexer(language)
    if lexer is None:
        return None
    joined: list[tuple[TokenClass, list[str]]] = []
    try:
        for _, token, word in lexer.get_tokens_unprocessed(text):
            kind = _class_of(token)
            if joined and joined[-1][0] == kind:
                joined[-1][1].append(word)
                continue
            joined.append((kind, [word]))
            if len(joined) > MAX_TOKENS:
                return None
    except MemoryError:
        raise
    except Exception:  # A lexer may raise any exception for the output of a model.
        return None
    return [(kind, "".join(words)) for kind, words in joined]


@lru_cache(maxsize=200)
def _lexer(name: str) -> Any:
    """Returns the Pygments lexer of a language, or None if there is none."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


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
    for parent, name in classes:
        if kind in parent:
            return name
    return ""
