"""Control tokens that are written in the text of a prompt: they stay words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

BREAKS = ("\u200b", " ")
"""Inserted after the first character of a written token: a space without width, or a
real one for tokenizers that drop the other."""
_TRIED = 64


class Literals:
    """The control tokens of a tokenizer.

    ``survives`` says whether a text is still read as the control token, which decides
    the break that is used.
    """

    def __init__(
        self,
        tokens: Iterable[str],
        survives: Callable[[str, str], bool] = lambda _text, _token: False,
    ) -> None:
        self._tokens = frozenset(token for token in tokens if _is_control(token))
        self._lengths: dict[str, set[int]] = {}
        for token in self._tokens:
            self._lengths.setdefault(token[0], set()).add(len(token))
        pattern = "(?!)"
        if self._lengths:
            pattern = "[" + re.escape("".join(self._lengths)) + "]"
        self._first = re.compile(pattern)
        tried = sorted(self._tokens)[:_TRIED]
        self._break = BREAKS[-1]
        for between in BREAKS:
            if not any(survives(_broken(token, between), token) for token in tried):
                self._break = between
                break

    def neutral(self, text: str) -> tuple[str, tuple[str, ...]]:
        """The text without control tokens, and those that were found, once each."""
        pieces: list[str] = []
        found: dict[str, None] = {}
        at = 0
        for hit in self._first.finditer(text):
            here = hit.start()
            token = self._at(text, here) if here >= at else None
            if token is not None:
                found[token] = None
                pieces += (text[at:here], _broken(token, self._break))
                at = here + len(token)
        return "".join((*pieces, text[at:])), tuple(found)

    def _at(self, text: str, here: int) -> str | None:
        """The longest control token that is written at a place."""
        lengths = self._lengths.get(text[here], ())
        for length in sorted(lengths, reverse=True):
            written = text[here : here + length]
            if written in self._tokens:
                return written
        return None


def _broken(token: str, by: str) -> str:
    return f"{token[0]}{by}{token[1:]}"


def _is_control(token: str) -> bool:
    """Whether it is neither a plain word nor blank, which may be listed as special."""
    is_word = token.strip("▁Ġ ").isalnum()
    return len(token) >= 3 and not token.isspace() and not is_word


def literals_of(processor: Any) -> Literals:
    """A processor's control tokens: its tokenizer's special ones and placeholders."""
    tokenizer = getattr(processor, "tokenizer", processor)
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    names = set(tokenizer.all_special_tokens)
    names.update(token.content for token in added if token.special)
    for kind in ("image", "audio", "video"):
        names.add(getattr(processor, f"{kind}_token", None) or "")

    def survives(text: str, token: str) -> bool:
        read: list[int] = tokenizer.encode(text, add_special_tokens=False)
        return tokenizer.convert_tokens_to_ids(token) in read

    return Literals(names, survives)
