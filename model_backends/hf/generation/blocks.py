"""Splits a stream of tokens, as Emu3 writes it, into text and picture blocks.

A block of two rows of three codes is: begin, the size ``2*3``, wrapper, three codes,
line end, three codes, line end, frame end, end. This module does not need torch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from mmeval.media import PartKind

_SIZE = re.compile(r"([1-9]\d{0,5})\*([1-9]\d{0,5})")


@dataclass(frozen=True)
class BlockTokens:
    """The token ids in picture blocks.

    ``size_pieces`` maps tokens to digits and asterisks. ``placeholder`` stands for a
    picture in the prompt, and never occurs in an answer.
    """

    begin: int
    wrapper: int
    line_end: int
    frame_end: int
    end: int
    codes: frozenset[int]
    size_pieces: Mapping[int, str]
    placeholder: int

    @cached_property
    def never_in_text(self) -> frozenset[int]:
        """The tokens that are valid only inside blocks."""
        marks = {self.wrapper, self.line_end, self.frame_end, self.end}
        return self.codes | marks | {self.placeholder}


@dataclass(frozen=True)
class Words:
    """A sequence of text tokens."""

    ids: tuple[int, ...]


@dataclass(frozen=True)
class Block:
    """A complete picture.

    ``codes`` are its rows with line ends: ``height * (width + 1)`` ids.
    """

    height: int
    width: int
    codes: tuple[int, ...]


@dataclass(frozen=True)
class BrokenBlock:
    """A picture, or a medium of another ``kind``, that cannot be decoded.

    ``cut`` is True if the stream ends inside it. Otherwise it is malformed.
    """

    reason: str
    cut: bool = False
    kind: PartKind = "image"


Piece: TypeAlias = Words | Block | BrokenBlock
_Part: TypeAlias = Literal["size", "body"]


def split(ids: Sequence[int], tokens: BlockTokens) -> Iterator[Piece]:
    """Yields the texts and blocks of a stream in order. ``ids`` lack the end token.

    A model without a grammar may write malformed blocks. Such a block ends at the first
    token that is invalid in a block, and text begins again there. Codes outside of a
    block are also returned as a broken block.
    """
    position = 0
    while position < len(ids):
        start = position
        if ids[position] == tokens.begin:
            position = _block_end(ids, position + 1, tokens)
            yield _block(ids[start + 1 : position], tokens, ended=position < len(ids))
        elif ids[position] in tokens.never_in_text:
            while position < len(ids) and ids[position] in tokens.never_in_text:
                position += 1
            yield BrokenBlock("picture codes are outside of a picture")
        else:
            while position < len(ids):
                if (
                    ids[position] == tokens.begin
                    or ids[position] in tokens.never_in_text
                ):
                    break
                position += 1
            yield Words(tuple(ids[start:position]))


def split_runs(
    ids: Sequence[int],
    tokens: BlockTokens,
    length: int,
) -> Iterator[Piece]:
    """Yields the texts and blocks of a stream whose pictures are runs of codes.

    A run of ``length`` codes stands between begin and end, without a size and line
    ends. Each picture becomes a block of one row, without a line end.
    """
    text: list[int] = []
    position = 0
    while position < len(ids):
        if ids[position] != tokens.begin:
            text.append(ids[position])
            position += 1
            continue
        if text:
            yield Words(tuple(text))
            text = []
        start = position = position + 1
        while position < len(ids) and ids[position] in tokens.codes:
            position += 1
        codes = tuple(ids[start:position])
        is_cut = position == len(ids)
        is_ended = not is_cut and ids[position] == tokens.end
        if is_ended and len(codes) == length:
            yield Block(1, length, codes)
        else:
            yield _broken(f"it has {len(codes)} of {length} codes", cut=is_cut)
        if is_ended:
            position += 1
    if text:
        yield Words(tuple(text))


def _block_end(
    ids: Sequence[int],
    position: int,
    tokens: BlockTokens,
) -> int:
    """Returns the end of a block that begins before ``position``.

    The block ends after its end token, or before a token that is invalid in a block.
    """
    part: _Part = "size"
    body = tokens.never_in_text - {tokens.end}
    while position < len(ids):
        token = ids[position]
        if token == tokens.end:
            return position + 1
        if token == tokens.wrapper:
            part = "body"
        elif token not in body and (part == "body" or token not in tokens.size_pieces):
            return position
        position += 1
    return position


def _block(
    inside: Sequence[int], tokens: BlockTokens, *, ended: bool
) -> Block | BrokenBlock:
    """Returns the picture of a block.

    ``ended`` is True if the block is complete, that is, if more of the stream
    follows it.
    """
    cut = not ended and tokens.end not in inside
    if tokens.wrapper not in inside:
        return _broken("it has no size", cut=cut)
    head = inside.index(tokens.wrapper)
    size_text = ""
    for token in inside[:head]:
        size_text += tokens.size_pieces.get(token, "?")
    size = _SIZE.fullmatch(size_text)
    if size is None:
        return _broken(f"its size is written as {size_text[:20]!r}", cut=cut)
    height, width = int(size[1]), int(size[2])
    body = inside[head + 1 :]
    size_with_ends = height * (width + 1)
    codes, tail = body[:size_with_ends], tuple(body[size_with_ends:])
    if cut:
        code_count = sum(token in tokens.codes for token in codes)
        return _broken(f"it has {code_count} of {height * width} codes", cut=True)
    is_whole = tail == (tokens.frame_end, tokens.end)
    for place, token in enumerate(codes):
        if place % (width + 1) == width:
            is_whole = is_whole and token == tokens.line_end
        else:
            is_whole = is_whole and token in tokens.codes
    if not is_whole:
        return _broken(f"its codes are not {height} rows of {width}", cut=False)
    return Block(height, width, tuple(codes))


def _broken(what: str, *, cut: bool) -> BrokenBlock:
    return BrokenBlock(f"a picture is {'cut off' if cut else 'malformed'}: {what}", cut)
