from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from mmeval.model_backends.hf.generation.blocks import Block, BrokenBlock, Piece, Words, split
from mmeval.model_backends.hf.generation.grammar import MAX_PICTURES, BlockGrammar, BlockMasks, PictureRule, RowState
from tests.model_backends.hf.generation.test_blocks import BEGIN, C1, LINE, TOKENS, WRAPPER, A, size

EOS, VOCABULARY = 2, 120
PROMPT = torch.tensor([[A, BEGIN, C1]])
FREE = PictureRule(max_codes=6)


def generated(
    rule: PictureRule, *, rows: int = 1, length: int = 40, seed: int = 0, fond_of: int = BEGIN
) -> list[list[int]]:
    """What a model gives that draws at random, and is fond of one token; a row that has ended is padded."""
    chance = torch.Generator().manual_seed(seed)
    grammar = BlockGrammar(BlockMasks(TOKENS, (EOS,)), rule, rows)
    ids = PROMPT.repeat(rows, 1)
    ended = torch.zeros(rows, dtype=torch.bool)
    for _ in range(length):
        scores = torch.randn(rows, VOCABULARY, generator=chance)
        scores[:, fond_of] += 3
        chosen = grammar(ids, scores).argmax(-1)
        ended |= chosen == EOS
        ids = torch.cat([ids, torch.where(ended, EOS, chosen)[:, None]], dim=1)
    found: list[list[int]] = ids[:, PROMPT.shape[1] :].tolist()
    return [row[: row.index(EOS)] if EOS in row else row for row in found]


def pieces(ids: list[int]) -> list[Piece]:
    return list(split(ids, TOKENS))


@pytest.mark.parametrize("seed", range(8))
def test_every_picture_of_a_model_that_draws_at_random_is_whole_or_cut_off(seed: int) -> None:
    for row in generated(FREE, rows=3, length=100, seed=seed):
        *before, last = pieces(row)
        assert not any(isinstance(piece, BrokenBlock) for piece in before)
        assert not isinstance(last, BrokenBlock) or last.cut
        assert any(isinstance(piece, Block) for piece in before)


@pytest.mark.parametrize("seed", range(8))
def test_no_picture_is_larger_than_allowed(seed: int) -> None:
    found = [piece for row in generated(FREE, rows=3, length=100, seed=seed) for piece in pieces(row)]
    assert max(piece.height * piece.width for piece in found if isinstance(piece, Block)) <= 6


def test_rows_do_not_see_each_other() -> None:
    grammar = BlockGrammar(BlockMasks(TOKENS, (EOS,)), FREE, 2)
    grammar(torch.tensor([[A], [A]]), torch.zeros(2, VOCABULARY))
    after = grammar(torch.tensor([[A, BEGIN], [A, A]]), torch.zeros(2, VOCABULARY))
    assert (after[0, A].item(), after[1, A].item(), after[1, C1].item()) == (-float("inf"), 0.0, -float("inf"))


def test_where_no_picture_is_wanted_none_is_begun() -> None:
    (row,) = generated(PictureRule(pictures=False))
    assert [type(piece) for piece in pieces(row)] == [Words]


def test_where_only_pictures_are_wanted_the_answer_is_one_picture() -> None:
    rows = generated(PictureRule(text=False, max_codes=6), rows=4, fond_of=A)
    assert [[type(piece) for piece in pieces(row)] for row in rows] == [[Block]] * 4


def test_a_fixed_size_is_written_as_the_tokenizer_writes_it() -> None:
    rule = PictureRule(text=False, max_codes=6, fixed=tuple(size("2*3")))
    ((first, *_),) = (pieces(row) for row in generated(rule))
    assert isinstance(first, Block)
    assert (first.height, first.width) == (2, 3)


def test_the_size_may_be_written_in_pieces_of_several_digits() -> None:
    tokens = replace(TOKENS, size_pieces={40: "1*", 41: "12"})
    state = RowState(tokens, FREE)
    for token in (BEGIN, 40, 41, WRAPPER, *[C1] * 12):
        state.advance(token)
    assert state.key == ("line end", "")
    state.advance(LINE)
    assert state.key == ("frame end", "")


def test_a_row_that_is_given_up_inside_of_a_picture_is_over() -> None:
    state = RowState(TOKENS, FREE, ends=(EOS,))
    for token in (BEGIN, EOS, A):
        state.advance(token)
    assert state.key == ("over", "")


def test_an_answer_has_so_many_pictures_and_no_more() -> None:
    (row,) = generated(PictureRule(max_codes=1), length=MAX_PICTURES * 12)
    assert sum(isinstance(piece, Block) for piece in pieces(row)) == MAX_PICTURES
