"""The adapter for Chameleon, which reads text and pictures as one stream of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from mmeval.backend import Capabilities
from mmeval.errors import UsageError
from mmeval.model_backends.hf.adapters.chat import ChatAdapter
from mmeval.model_backends.hf.conversation.rows import Row, RowAnswer
from mmeval.model_backends.hf.generation.blocks import (
    Block,
    BlockTokens,
    Words,
    split_runs,
)
from mmeval.model_backends.hf.generation.grammar import (
    BlockGrammar,
    BlockMasks,
    PictureRule,
    RunState,
)
from mmeval.model_backends.hf.generation.interleaving import AnswerPiece, interleave
from mmeval.model_backends.hf.generation.media import to_picture
from mmeval.records import Request

TEMPLATE = (
    "{{% for m in messages %}}{{% for p in m['content'] %}}"
    "{{% if p['type'] == 'text' %}}{{{{ p['text'] }}}}{{% elif p['type'] == 'image' "
    "%}}<image>{{% endif %}}"
    "{{% endfor %}}{{% if not loop.last %}}{separator}{{% endif %}}{{% endfor %}}"
)
"""A template with separators between turns and without roles.

The processor adds the last separator.
"""


class ChameleonAdapter(ChatAdapter):
    """Answers text and pictures with text.

    The model can also draw, but the library has no decoder for its picture codes and
    forbids them.

    A subclass that has the original decoder can override ``decode_codes``. Its answers
    then contain pictures, in the order of the stream.
    """

    def decode_codes(self, codes: Sequence[int]) -> Any:
        """Decodes a picture to values in 0..255, in a form that ``to_picture`` accepts.

        ``codes`` are indices of the code book, row by row.
        """
        raise NotImplementedError

    @property
    def draws(self) -> bool:
        return type(self).decode_codes is not ChameleonAdapter.decode_codes

    @cached_property
    def capabilities(self) -> Capabilities:
        if "image" in self.settings.outputs.split("+") and not self.draws:
            raise UsageError(
                f"outputs={self.settings.outputs}: pictures of this model need its "
                "original decoder, which the library does not have. Leave outputs out, "
                "or register your own adapter with decode_codes (adapter=NAME)"
            )
        capabilities = Capabilities.of(["text", "image"], ["text"], "single")
        if self.draws:
            capabilities = Capabilities.of(["text", "image"], ["text", "image"])
        return replace(capabilities, options=frozenset())

    def load(self) -> None:
        super().load()
        mapping = self.model.model.vocabulary_mapping
        self._codes: dict[int, int] = dict(mapping.bpe2img)
        # pictures have no size, line ends or frame end, so the end token fills these
        # fields
        end = self.processor.image_end_token_id
        tokens = BlockTokens(
            begin=self.processor.image_start_token_id,
            wrapper=end,
            line_end=end,
            frame_end=end,
            end=end,
            codes=frozenset(self._codes),
            size_pieces={},
            placeholder=self.processor.image_token_id,
        )
        self._masks = BlockMasks(tokens, self.generation.ends or (self.generation.pad,))
        if self.draws:
            # computed and cached now, because it needs image_tokens
            _ = mapping.img2bpe_mapping_tensor
            # empty, because the library forbids these tokens in every step
            mapping.image_tokens = []

    def load_processor(self) -> Any:
        processor = super().load_processor()
        if not getattr(processor, "chat_template", None):
            processor.chat_template = TEMPLATE.format(
                separator=processor.tokenizer.sep_token
            )
        return processor

    def logits_processors(self, rows: Sequence[Row]) -> list[Any]:
        wants = rows[0].request.wants
        rule = PictureRule(
            text=any(kind != "image" for kind in wants), pictures="image" in wants
        )
        state = partial(RunState, length=self.processor.image_seq_length)
        return [BlockGrammar(self._masks, rule, len(rows), state)]

    def split(self, request: Request, ids: Sequence[int]) -> RowAnswer:
        pieces = split_runs(ids, self._masks.tokens, self.processor.image_seq_length)
        answer_pieces: list[AnswerPiece] = []
        for piece in pieces:
            if isinstance(piece, Words):
                answer_pieces.append(self.text_of(piece.ids))
            elif isinstance(piece, Block):
                codes = [self._codes[token] for token in piece.codes]
                answer_pieces.append(to_picture(self.decode_codes(codes)))
            else:
                answer_pieces.append(piece)
        return interleave(answer_pieces, self.stops(request))
