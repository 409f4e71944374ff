"""The words of code by their kinds, found apart: a lexer's patterns can take minutes on text that is made for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

from mmeval.decode.apart import Step, steps_apart
from mmeval.decode.limits import DEFAULT_LIMITS, DecodeLimits
from mmeval.media import Media

TokenClass = Literal["keyword", "name", "builtin", "string", "number", "comment", "operator", ""]
MAX_TOKENS = 5_000


def code_words(
    text: str, language: str, *, limits: DecodeLimits = DEFAULT_LIMITS
) -> list[tuple[TokenClass, str]] | None:
    """The words of ``text`` in order, each with its class; None where no lexer knows the language, or where it finds
    more than MAX_TOKENS words. Raises CorruptMediaError where a lexer fails, MediaLimitError above a limit."""
    data = text.encode("utf-8", "surrogatepass")
    media = Media(data=data, mime="text/plain", size=len(data), name="code")
    for step in steps_apart("mmeval.decode.code:word_steps", media, data, limits, language=language):
        if step.buffers:
            return [(kind, word) for kind, word in json.loads(step.buffers[0])]
    return None


def word_steps(media: Media, _limits: DecodeLimits, *, language: str) -> Iterator[Step]:
    """One step: the words as JSON, none where there are too many. Runs apart."""
    lexer = _lexer(language)

    def words() -> Iterator[Step]:
        if lexer is None:
            return
        found = lexer.get_tokens_unprocessed(media.read().decode("utf-8", "surrogatepass"))
        kept = list(islice(_merged(found), MAX_TOKENS + 1))
        yield Step({}, (json.dumps(kept).encode(),) if len(kept) <= MAX_TOKENS else ())

    return words()


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
