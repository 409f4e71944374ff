from dataclasses import replace

import torch

from mmeval.model_backends.hf.generation.blocks import (
    Block,
    BrokenBlock,
    Piece,
    Words,
    split,
)
from mmeval.model_backends.hf.generation.grammar import (
    MAX_PICTURES,
    BlockGrammar,
    BlockMasks,
    PictureRule,
    RowState,
)
from tests.model_backends.hf.generation.block_tokens import (
    BEGIN,
    C1,
    LINE,
    TOKENS,
    WRAPPER,
    A,
    size,
)

EOS, VOCABULARY = 2, 120
PROMPT = torch.tensor([[A, BEGIN, C1]])
FREE = PictureRule(max_codes=6)


def generated(
    rule: PictureRule, *, rows: int = 1, length: int = 40, fond_of: int = BEGIN
) -> list[list[Piece]]:
    """What a model gives that draws at random, and is fond of one token; a row that has
    ended is padded."""
    chance = torch.Generator().manual_seed(0)
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
    return [
        list(split(row[: row.index(EOS)] if EOS in row else row, TOKENS))
        for row in found
    ]


def test_pictures_of_a_model_that_draws_at_random_are_whole_small_wanted_and_few_enough() -> (
    None
):
    for *before, last in generated(FREE, rows=24, length=100):
        assert not any(isinstance(piece, BrokenBlock) for piece in before)
        assert not isinstance(last, BrokenBlock) or last.cut
        assert any(isinstance(piece, Block) for piece in before)
        assert all(
            piece.height * piece.width <= 6
            for piece in before
            if isinstance(piece, Block)
        )
    (row,) = generated(PictureRule(pictures=False))
    assert [type(piece) for piece in row] == [Words]
    rows = generated(PictureRule(text=False, max_codes=6), rows=4, fond_of=A)
    assert [[type(piece) for piece in row] for row in rows] == [[Block]] * 4
    ((first, *_),) = generated(
        PictureRule(text=False, max_codes=6, fixed=tuple(size("2*3")))
    )
    assert isinstance(first, Block)
    assert first.height == 2
    assert first.width == 3
    (many,) = generated(PictureRule(max_codes=1), length=MAX_PICTURES * 12)
    assert sum(isinstance(piece, Block) for piece in many) == MAX_PICTURES


def test_a_row_keeps_to_the_grammar_whatever_its_neighbours_or_the_pieces_of_its_size() -> (
    None
):
    grammar = BlockGrammar(BlockMasks(TOKENS, (EOS,)), FREE, 2)
    grammar(torch.tensor([[A], [A]]), torch.zeros(2, VOCABULARY))
    after = grammar(torch.tensor([[A, BEGIN], [A, A]]), torch.zeros(2, VOCABULARY))
    assert after[0, A].item() == -float("inf")
    assert after[1, A].item() == 0.0
    assert after[1, C1].item() == -float("inf")
    state = RowState(replace(TOKENS, size_pieces={40: "1*", 41: "12"}), FREE)
    for token in (BEGIN, 40, 41, WRAPPER, *[C1] * 12):
        state.advance(token)
    assert state.key == ("line end", "")
    state.advance(LINE)
    assert state.key == ("frame end", "")
    given_up = RowState(TOKENS, FREE, ends=(EOS,))
    for token in (BEGIN, EOS, A):
        given_up.advance(token)
    assert given_up.key == ("over", "")
