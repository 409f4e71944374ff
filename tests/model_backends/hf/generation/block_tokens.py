"""Tokens of a model that writes pictures between words: what the tests of its stream
and its grammar share."""

from mmeval.model_backends.hf.generation.blocks import BlockTokens

A, B = 0, 1
BEGIN, WRAPPER, LINE, FRAME, END, PLACEHOLDER = range(100, 106)
C1, C2, C3 = 110, 111, 112
SIZE = dict(enumerate("0123456789*", start=50))
TOKENS = BlockTokens(
    BEGIN, WRAPPER, LINE, FRAME, END, frozenset({C1, C2, C3}), SIZE, PLACEHOLDER
)


def size(text: str) -> list[int]:
    ids = {piece: token for token, piece in SIZE.items()}
    return [ids[char] for char in text]
