"""Cuts a stream of tokens, as Emu3 writes it, into words and picture blocks.

A block of two rows of three codes is: begin, the size ``2*3``, wrapper, three codes,
line end, three codes, line end, frame end, end. Nothing here needs torch.
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
    """The ids in picture blocks. ``size_pieces``: tokens of digits and asterisks;
    ``placeholder``: a prompt's picture, never in an answer."""

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
        """The tokens that have a meaning only inside of blocks."""
        marks = {self.wrapper, self.line_end, self.frame_end, self.end}
        return self.codes | marks | {self.placeholder}


@dataclass(frozen=True)
class Words:
    """A run of text tokens."""

    ids: tuple[int, ...]


@dataclass(frozen=True)
class Block:
    """A whole picture: rows of ``codes`` with line ends, ``height * (width + 1)``
    ids."""

    height: int
    width: int
    codes: tuple[int, ...]


@dataclass(frozen=True)
class BrokenBlock:
    """A picture (or a medium of another ``kind``) that cannot be made: ``cut`` by the
    stream's end, else malformed."""

    reason: str
    cut: bool = False
    kind: PartKind = "image"


Piece: TypeAlias = Words | Block | BrokenBlock
_Part: TypeAlias = Literal["size", "body"]


def split(ids: Sequence[int], tokens: BlockTokens) -> Iterator[Piece]:
    """The pieces of a stream in order. ``ids`` end before the end of the answer.

    A malformed block, as from a model without a grammar, ends at a token that no block
    holds; from there it is text again. Each run of codes outside of a block is also a
    broken block.
    """
    at = 0
    while at < len(ids):
        start = at
        if ids[at] == tokens.begin:
            at = _block_end(ids, at + 1, tokens)
            yield _block(ids[start + 1 : at], tokens, ended=at < len(ids))
        elif ids[at] in tokens.never_in_text:
            while at < len(ids) and ids[at] in tokens.never_in_text:
                at += 1
            yield BrokenBlock("picture codes stand outside of a picture")
        else:
            while at < len(ids):
                if ids[at] == tokens.begin or ids[at] in tokens.never_in_text:
                    break
                at += 1
            yield Words(tuple(ids[start:at]))


def split_runs(
    ids: Sequence[int],
    tokens: BlockTokens,
    length: int,
) -> Iterator[Piece]:
    """The pieces of a stream whose pictures are runs of ``length`` codes. They are
    between begin and end, without size and lines; each is a block of one row, without a
    line end."""
    text: list[int] = []
    at = 0
    while at < len(ids):
        if ids[at] != tokens.begin:
            text.append(ids[at])
            at += 1
            continue
        if text:
            yield Words(tuple(text))
            text = []
        start = at = at + 1
        while at < len(ids) and ids[at] in tokens.codes:
            at += 1
        codes = tuple(ids[start:at])
        is_cut = at == len(ids)
        is_ended = not is_cut and ids[at] == tokens.end
        if is_ended and len(codes) == length:
            yield Block(1, length, codes)
        else:
            yield _broken(f"{len(codes)} of its {length} codes are there", cut=is_cut)
        if is_ended:
            at += 1
    if text:
        yield Words(tuple(text))


def _block_end(
    ids: Sequence[int],
    at: int,
    tokens: BlockTokens,
) -> int:
    """Where a block begun before ``at`` ends: after its end token, at a foreign
    token."""
    part: _Part = "size"
    body = tokens.never_in_text - {tokens.end}
    while at < len(ids):
        token = ids[at]
        if token == tokens.end:
            return at + 1
        if token == tokens.wrapper:
            part = "body"
        elif token not in body and (part == "body" or token not in tokens.size_pieces):
            return at
        at += 1
    return at


def _block(
    inside: Sequence[int], tokens: BlockTokens, *, ended: bool
) -> Block | BrokenBlock:
    """The picture inside a block; ``ended`` if the stream goes on after the block."""
    cut = not ended and tokens.end not in inside
    if tokens.wrapper not in inside:
        return _broken("it has no size", cut=cut)
    head = inside.index(tokens.wrapper)
    written = ""
    for token in inside[:head]:
        written += tokens.size_pieces.get(token, "?")
    size = _SIZE.fullmatch(written)
    if size is None:
        return _broken(f"its size reads {written[:20]!r}", cut=cut)
    height, width = int(size[1]), int(size[2])
    body = inside[head + 1 :]
    size_with_ends = height * (width + 1)
    codes, tail = body[:size_with_ends], tuple(body[size_with_ends:])
    if cut:
        drawn = sum(token in tokens.codes for token in codes)
        return _broken(f"{drawn} of its {height * width} codes are there", cut=True)
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
