"""Prevents control tokens in the text of a prompt from acting as control tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

BREAKS = ("\u200b", " ")
"""Characters to insert after the first character of a control token.

The first choice is a zero-width space. The second is a space, for tokenizers that drop
the zero-width space.
"""
_TRIED = 64


class Literals:
    """The control tokens of a tokenizer.

    ``survives(text, token)`` returns True if the tokenizer still finds the control
    token in the text. Its result decides which of ``BREAKS`` is used.
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
        samples = sorted(self._tokens)[:_TRIED]
        self._break = BREAKS[-1]
        for separator in BREAKS:
            if not any(survives(_broken(token, separator), token) for token in samples):
                self._break = separator
                break

    def neutral(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Breaks the control tokens in a text.

        Returns the new text and the control tokens that it contained, each listed once.
        """
        pieces: list[str] = []
        tokens: dict[str, None] = {}
        copied_to = 0
        for match in self._first.finditer(text):
            start = match.start()
            token = self._token_at(text, start) if start >= copied_to else None
            if token is not None:
                tokens[token] = None
                pieces += (text[copied_to:start], _broken(token, self._break))
                copied_to = start + len(token)
        return "".join((*pieces, text[copied_to:])), tuple(tokens)

    def _token_at(self, text: str, start: int) -> str | None:
        """Returns the longest control token that starts at an offset, or None."""
        lengths = self._lengths.get(text[start], ())
        for length in sorted(lengths, reverse=True):
            candidate = text[start : start + length]
            if candidate in self._tokens:
                return candidate
        return None


def _broken(token: str, separator: str) -> str:
    return f"{token[0]}{separator}{token[1:]}"


def _is_control(token: str) -> bool:
    """Returns True unless a special token is a plain word or whitespace.

    Some tokenizers mark words and whitespace as special too.
    """
    is_word = token.strip("▁Ġ ").isalnum()
    return len(token) >= 3 and not token.isspace() and not is_word


def literals_of(processor: Any) -> Literals:
    """Returns the control tokens of a processor: special tokens and placeholders."""
    tokenizer = getattr(processor, "tokenizer", processor)
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    names = set(tokenizer.all_special_tokens)
    names.update(token.content for token in added if token.special)
    for kind in ("image", "audio", "video"):
        names.add(getattr(processor, f"{kind}_token", None) or "")

    def survives(text: str, token: str) -> bool:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
        return tokenizer.convert_tokens_to_ids(token) in ids

    return Literals(names, survives)
