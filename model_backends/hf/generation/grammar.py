"""Grammar of picture blocks: which token may come next, so that all can be drawn.

The model chooses whether and when it draws, the size, and every code. Only the tokens
without a choice are forced: line ends, and the end of the block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from mmeval.model_backends.hf.generation.blocks import BlockTokens

MAX_PICTURES = 64
"""The most pictures in one answer."""
_KEPT_MASKS = 512

_SIZE_BEGUN = re.compile(r"([1-9][0-9]{0,5})(?:\*([1-9][0-9]{0,5})?)?")
_Key: TypeAlias = tuple[str, str]
"""A state with the same allowed tokens: its name, and inside of a size its text so
far."""


@dataclass(frozen=True)
class PictureRule:
    """What an answer may hold: words, pictures or both; without words one picture.
    ``fixed`` are the ids of the only allowed size; without it the model chooses any
    size of at most ``max_codes``."""

    text: bool = True
    pictures: bool = True
    max_codes: int = 1 << 14
    fixed: tuple[int, ...] = ()


class RowState:
    """The state of one answer in the grammar, advanced by its tokens one by one."""

    __slots__ = (
        "_ends",
        "_place",
        "_rule",
        "_size",
        "_spelt",
        "_tokens",
        "_written",
        "pictures",
    )

    def __init__(
        self, tokens: BlockTokens, rule: PictureRule, ends: Collection[int] = ()
    ) -> None:
        self._tokens, self._rule, self._ends = tokens, rule, ends
        self._place = "text"
        self._size, self._spelt, self._written = "", 0, 0
        self.pictures = 0

    @property
    def key(self) -> _Key:
        rule = self._rule
        if self._place == "text":
            if not rule.text:
                return ("over", "") if self.pictures else ("begin", "")
            may_draw = rule.pictures and self.pictures < MAX_PICTURES
            return ("text" if may_draw else "text only", "")
        if self._place == "over":
            return ("over", "")
        if self._place == "size":
            return ("fixed", str(self._spelt)) if rule.fixed else ("size", self._size)
        return (self._next_of_body(), "")

    def advance(self, token: int) -> None:
        tokens = self._tokens
        if token in self._ends:  # also inside of a picture, when a row is given up
            self._place = "over"
        elif self._place == "text":
            if token == tokens.begin:
                self._place, self._size, self._spelt, self._written = "size", "", 0, 0
        elif self._place == "size":
            if token == tokens.wrapper:
                self._place = "body"
            else:
                self._size += tokens.size_pieces.get(token, "")
                self._spelt += 1
        elif self._place == "body":
            self._written += 1
            if token == tokens.end:
                self._place = "text"
                self.pictures += 1

    def _next_of_body(self) -> str:
        height, width = map(int, self._size.split("*"))
        codes = height * (width + 1)
        if self._written < codes:
            return "line end" if self._written % (width + 1) == width else "code"
        return "frame end" if self._written == codes else "end"


class RunState(RowState):
    """The state for pictures as runs of ``length`` codes, without size and lines."""

    __slots__ = ("_length",)

    def __init__(
        self,
        tokens: BlockTokens,
        rule: PictureRule,
        ends: Collection[int],
        *,
        length: int,
    ) -> None:
        super().__init__(tokens, rule, ends)
        self._length = length

    def advance(self, token: int) -> None:
        super().advance(token)
        if self._place == "size":
            self._place = "body"

    def _next_of_body(self) -> str:
        return "code" if self._written < self._length else "end"


class BlockMasks:
    """Each state's forbidden tokens: a boolean tensor over the vocabulary, made once.
    ``ends`` are the tokens that end an answer. Tensors are ``Any``: torch is untyped
    here."""

    def __init__(self, tokens: BlockTokens, ends: Iterable[int]) -> None:
        self.tokens = tokens
        self.ends = frozenset(ends)
        self._kept: dict[tuple[_Key, PictureRule, int, str], Any] = {}

    def forbidden(
        self,
        key: _Key,
        rule: PictureRule,
        like: Any,
    ) -> Any:
        """The mask of a state for scores with the last dimension and device of
        ``like``."""
        name = (key, rule, like.shape[-1], str(like.device))
        if name in self._kept:
            return self._kept[name]
        import torch

        place, spelt = key
        if place in ("text", "text only"):
            mask = torch.zeros(like.shape[-1], dtype=torch.bool)
            mask[sorted(self.tokens.never_in_text)] = True
            if place == "text only":
                mask[self.tokens.begin] = True
        else:
            mask = torch.ones(like.shape[-1], dtype=torch.bool)
            mask[sorted(self._allowed(place, spelt, rule))] = False
        if len(self._kept) >= _KEPT_MASKS:
            self._kept.clear()
        self._kept[name] = mask.to(like.device)
        return self._kept[name]

    def _allowed(
        self,
        place: str,
        spelt: str,
        rule: PictureRule,
    ) -> Iterable[int]:
        tokens = self.tokens
        if place == "size":
            allowed = []
            for token, piece in tokens.size_pieces.items():
                if _fits(spelt + piece, rule.max_codes):
                    allowed.append(token)
            if spelt.partition("*")[2]:
                allowed.append(tokens.wrapper)
            return allowed
        if place == "fixed":
            return (*rule.fixed, tokens.wrapper)[int(spelt) :][:1]
        chosen: dict[str, Iterable[int]] = {
            "begin": (tokens.begin,),
            "over": self.ends,
            "code": tokens.codes,
            "line end": (tokens.line_end,),
            "frame end": (tokens.frame_end,),
            "end": (tokens.end,),
        }
        return chosen[place]


def _fits(text: str, max_codes: int) -> bool:
    """Whether a text begins a size of at most so many codes: ``6``, ``6*``, ``6*8``."""
    size = _SIZE_BEGUN.fullmatch(text)
    if size is None:
        return False
    height, width = int(size[1]), int(size[2] or 1)
    return height * width <= max_codes


MakeState: TypeAlias = Callable[[BlockTokens, PictureRule, Collection[int]], RowState]


class BlockGrammar:
    """A logits processor that restricts the rows of one batch to the grammar. It is
    made for each call of ``generate`` and comes before sampling. ``state`` makes the
    state of a row."""

    def __init__(
        self,
        masks: BlockMasks,
        rule: PictureRule,
        rows: int,
        state: MakeState = RowState,
    ) -> None:
        self._masks, self._rule = masks, rule
        self.rows = [state(masks.tokens, rule, masks.ends) for _ in range(rows)]
        self._begun = False
        self._forbidden: dict[_Key, Any] = {}

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """``input_ids``: (rows, prompt and answer so far); ``scores``: (rows,
        vocabulary)."""
        if self._begun:
            last_tokens = input_ids[:, -1].tolist()
            for row, token in zip(self.rows, last_tokens, strict=True):
                row.advance(token)
        self._begun = True
        keys = [row.key for row in self.rows]
        masks = [self._mask(key, scores) for key in keys]
        if keys.count(keys[0]) == len(keys):
            return scores.masked_fill(masks[0], -float("inf"))
        import torch

        return scores.masked_fill(torch.stack(masks), -float("inf"))

    def _mask(self, key: _Key, scores: Any) -> Any:
        if key not in self._forbidden:
            self._forbidden[key] = self._masks.forbidden(key, self._rule, scores)
        return self._forbidden[key]
