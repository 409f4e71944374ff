"""The grammar of picture blocks: it allows only tokens that lead to complete pictures.

The model decides whether and when it draws, and chooses the size and every code. Only
tokens without an alternative are forced: line ends, and the end of the block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from mmeval.model_backends.hf.generation.blocks import BlockTokens

MAX_PICTURES = 64
"""Maximum number of pictures in an answer."""
_MAX_MASKS = 512

_SIZE_PREFIX = re.compile(r"([1-9][0-9]{0,5})(?:\*([1-9][0-9]{0,5})?)?")
_Key: TypeAlias = tuple[str, str]
"""The name of a state and, inside a size, the text of the size so far.

States with equal keys allow the same tokens.
"""


@dataclass(frozen=True)
class PictureRule:
    """The allowed content of an answer: text, pictures or both.

    Without text, an answer is one picture. ``fixed`` contains the ids of the only
    allowed size. Without it, the model chooses a size of at most ``max_codes``.
    """

    text: bool = True
    pictures: bool = True
    max_codes: int = 1 << 14
    fixed: tuple[int, ...] = ()


class RowState:
    """The state of one answer in the grammar. Each token advances the state."""

    __slots__ = (
        "_body_tokens",
        "_ends",
        "_place",
        "_rule",
        "_size",
        "_size_tokens",
        "_tokens",
        "pictures",
    )

    def __init__(
        self, tokens: BlockTokens, rule: PictureRule, ends: Collection[int] = ()
    ) -> None:
        self._tokens, self._rule, self._ends = tokens, rule, ends
        self._place = "text"
        self._size, self._size_tokens, self._body_tokens = "", 0, 0
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
            if rule.fixed:
                return ("fixed", str(self._size_tokens))
            return ("size", self._size)
        return (self._next_of_body(), "")

    def advance(self, token: int) -> None:
        tokens = self._tokens
        # RowSampler ends broken rows, even inside a picture
        if token in self._ends:
            self._place = "over"
        elif self._place == "text":
            if token == tokens.begin:
                self._place = "size"
                self._size, self._size_tokens, self._body_tokens = "", 0, 0
        elif self._place == "size":
            if token == tokens.wrapper:
                self._place = "body"
            else:
                self._size += tokens.size_pieces.get(token, "")
                self._size_tokens += 1
        elif self._place == "body":
            self._body_tokens += 1
            if token == tokens.end:
                self._place = "text"
                self.pictures += 1

    def _next_of_body(self) -> str:
        height, width = map(int, self._size.split("*"))
        codes = height * (width + 1)
        if self._body_tokens < codes:
            return "line end" if self._body_tokens % (width + 1) == width else "code"
        return "frame end" if self._body_tokens == codes else "end"


class RunState(RowState):
    """The state for pictures of ``length`` codes in one run, without size or lines."""

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
        return "code" if self._body_tokens < self._length else "end"


class BlockMasks:
    """The forbidden tokens of each state, as boolean tensors over the vocabulary.

    Each tensor is built once. ``ends`` are the tokens that end an answer. Tensors are
    ``Any``, because torch is optional.
    """

    def __init__(self, tokens: BlockTokens, ends: Iterable[int]) -> None:
        self.tokens = tokens
        self.ends = frozenset(ends)
        self._masks: dict[tuple[_Key, PictureRule, int, str], Any] = {}

    def forbidden(
        self,
        key: _Key,
        rule: PictureRule,
        like: Any,
    ) -> Any:
        """Returns the mask of a state.

        The mask has the last dimension and the device of the scores ``like``.
        """
        name = (key, rule, like.shape[-1], str(like.device))
        if name in self._masks:
            return self._masks[name]
        import torch

        place, size_text = key
        if place in ("text", "text only"):
            mask = torch.zeros(like.shape[-1], dtype=torch.bool)
            mask[sorted(self.tokens.never_in_text)] = True
            if place == "text only":
                mask[self.tokens.begin] = True
        else:
            mask = torch.ones(like.shape[-1], dtype=torch.bool)
            mask[sorted(self._allowed(place, size_text, rule))] = False
        if len(self._masks) >= _MAX_MASKS:
            self._masks.clear()
        self._masks[name] = mask.to(like.device)
        return self._masks[name]

    def _allowed(
        self,
        place: str,
        size_text: str,
        rule: PictureRule,
    ) -> Iterable[int]:
        tokens = self.tokens
        if place == "size":
            allowed = []
            for token, piece in tokens.size_pieces.items():
                if _fits(size_text + piece, rule.max_codes):
                    allowed.append(token)
            if size_text.partition("*")[2]:
                allowed.append(tokens.wrapper)
            return allowed
        if place == "fixed":
            return (*rule.fixed, tokens.wrapper)[int(size_text) :][:1]
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
    """Returns True if ``text`` is the beginning of a size of at most ``max_codes``.

    Beginnings are, for example, ``6``, ``6*`` and ``6*8``.
    """
    size = _SIZE_PREFIX.fullmatch(text)
    if size is None:
        return False
    height, width = int(size[1]), int(size[2] or 1)
    return height * width <= max_codes


MakeState: TypeAlias = Callable[[BlockTokens, PictureRule, Collection[int]], RowState]


class BlockGrammar:
    """A logits processor that restricts the rows of one batch to the grammar.

    Each call of ``generate`` needs a new instance, which must run before the sampler.
    ``state`` creates the state of a row.
    """

    def __init__(
        self,
        masks: BlockMasks,
        rule: PictureRule,
        rows: int,
        state: MakeState = RowState,
    ) -> None:
        self._masks, self._rule = masks, rule
        self.rows = [state(masks.tokens, rule, masks.ends) for _ in range(rows)]
        self._has_started = False
        self._forbidden: dict[_Key, Any] = {}

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Sets the scores of forbidden tokens to minus infinity.

        ``input_ids`` has the shape (rows, prompt and answer so far), ``scores`` the
        shape (rows, vocabulary).
        """
        if self._has_started:
            last_tokens = input_ids[:, -1].tolist()
            for row, token in zip(self.rows, last_tokens, strict=True):
                row.advance(token)
        self._has_started = True
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
