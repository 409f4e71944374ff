"""Emu3: one stream of tokens with words and picture codes, in reading order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from mmeval.backend import Capabilities
from mmeval.media import Media
from mmeval.model_backends.hf.adapters.chat import ChatAdapter
from mmeval.model_backends.hf.conversation.rows import Encoded, Row, RowAnswer
from mmeval.model_backends.hf.failures import RowError
from mmeval.model_backends.hf.generation.blocks import (
    Block,
    BlockTokens,
    Words,
    split,
)
from mmeval.model_backends.hf.generation.grammar import (
    BlockGrammar,
    BlockMasks,
    PictureRule,
)
from mmeval.model_backends.hf.generation.interleaving import AnswerPiece, interleave
from mmeval.model_backends.hf.generation.media import to_picture
from mmeval.model_backends.hf.options import count_option
from mmeval.records import GenerationParams, Request

RATIO, AREA = "image.ratio", "image.area"
USUAL_RATIO, USUAL_AREA = "1:1", 720 * 720
"""Pixels of a picture alone, unless the processor says otherwise."""
_RATIO = re.compile(r"([1-9]\d{0,2}):([1-9]\d{0,2})")
_SIZE_PIECE = re.compile(r"[0-9*]+")

PLAIN_TEMPLATE = (
    "{% for m in messages %}{% for p in m['content'] %}"
    "{% if p['type'] == 'text' %}{{ p['text'] }}{% elif p['type'] == 'image' "
    "%}<image>{% endif %}"
    "{% endfor %}{% if not loop.last %}{{ '\\n' }}{% endif %}{% endfor %}"
)
"""The words as they are, for checkpoints without a template, such as those for
drawing."""


class Emu3Adapter(ChatAdapter):
    """Text and pictures in one answer, in any order and number.
    A grammar ensures that every started picture can be drawn.

    Where pictures alone are wanted, the answer is one picture. ``image.ratio``
    (``4:3``, width first) and ``image.area`` (in pixels) fix the size of every picture;
    without them it is the model's choice, and for a picture alone that of the
    processor.
    """

    @cached_property
    def capabilities(self) -> Capabilities:
        return replace(
            Capabilities.of(["text", "image"], ["text", "image"]),
            options=frozenset({RATIO, AREA}),
        )

    def load(self) -> None:
        super().load()
        names: Mapping[str, int] = self.tokenizer.get_vocab()
        special = set(self.tokenizer.all_special_tokens)
        size_pieces = {}
        for name, number in names.items():
            if _SIZE_PIECE.fullmatch(name) and name not in special:
                size_pieces[number] = name
        picture = self.model.vocabulary_mapping
        tokens = BlockTokens(
            begin=names[self.processor.image_start_token],
            wrapper=names[self.processor.fake_token_around_image],
            line_end=picture.eol_token_id,
            frame_end=names[self.processor.eof_token],
            end=names[self.processor.image_end_token],
            codes=frozenset(picture.image_tokens),
            size_pieces=size_pieces,
            placeholder=names[self.processor.image_token],
        )
        self._masks = BlockMasks(tokens, self.generation.ends or (self.generation.pad,))

    def load_processor(self) -> Any:
        processor = super().load_processor()
        own = getattr(processor, "chat_template", None)
        if not own and not processor.tokenizer.chat_template:
            processor.chat_template = PLAIN_TEMPLATE
        return processor

    def row(self, position: int, request: Request) -> Row:
        self._rule(request)
        return super().row(position, request)

    def encode(self, rows: Sequence[Row]) -> Encoded:
        """The prompts as tokens alone: each picture is turned into its codes by itself.
        In a batch the library pads pictures to one size, on which the codes of the
        smaller ones would depend."""
        encoded = dict(super().encode(rows))
        pixels = encoded.pop("pixel_values", None)
        sizes = encoded.pop("image_sizes", None)
        if pixels is not None:
            import torch

            ids = encoded["input_ids"]
            model = self.model
            codes = []
            with torch.inference_mode():
                for picture, size in zip(pixels, sizes.tolist(), strict=True):
                    height, width = size
                    own = picture[None, :, :height, :width]
                    own = own.to(model.device, model.dtype)
                    codes.append(
                        model.model.get_image_tokens(own, torch.tensor([size]))
                    )
            # with line ends, one picture after the other
            encoded["input_ids"] = ids.masked_scatter(
                ids == self._masks.tokens.placeholder,
                torch.cat(codes).to("cpu", torch.long),
            )
        return encoded

    def usual_length(self, request: Request) -> int:
        """Tokens of an answer: a picture of the usual size takes eight thousand."""
        if "image" in request.wants:
            return self.context
        return super().usual_length(request)

    def logits_processors(self, rows: Sequence[Row]) -> list[Any]:
        rule = self._rule(rows[0].request)
        return [BlockGrammar(self._masks, rule, len(rows))]

    def split(self, request: Request, ids: Sequence[int]) -> RowAnswer:
        said: list[AnswerPiece] = []
        for piece in split(ids, self._masks.tokens):
            if isinstance(piece, Words):
                # control tokens are left out only now, since they separate words from
                # pictures
                said.append(self.text_of(piece.ids))
            elif isinstance(piece, Block):
                said.append(self._picture(piece))
            else:
                said.append(piece)
        return interleave(said, self.stops(request))

    def _rule(self, request: Request) -> PictureRule:
        """The pictures that an answer may have. Raises RowError for invalid options."""
        text = any(kind in request.wants for kind in ("text", "code"))
        pictures = "image" in request.wants
        given = {RATIO, AREA} & request.params.options.keys()
        rule = PictureRule(text, pictures, self._most_codes)
        if not pictures or (text and not given):
            return rule
        height, width = self._size(request.params)
        size = f"{height}*{width}"
        ids: list[int] = self.tokenizer.encode(size, add_special_tokens=False)
        return replace(rule, fixed=tuple(ids))

    def _size(self, params: GenerationParams) -> tuple[int, int]:
        """Rows and columns of codes of every picture, unless the model chooses."""
        most, code = self._most_codes, self._side**2
        usual_ratio = getattr(self.processor, "ratio", USUAL_RATIO)
        ratio = str(params.options.get(RATIO, usual_ratio))
        if not _RATIO.fullmatch(ratio):
            raise RowError(
                "bad_request",
                f"{RATIO} must be such as 4:3 (width first), given: {ratio!r}",
            )
        usual = min(int(getattr(self.processor, "image_area", USUAL_AREA)), most * code)
        area = count_option(params, AREA, usual, least=code)
        areas = [area]
        if AREA not in params.options:
            areas = [area * part // 20 for part in range(20, 0, -1)]
        for smaller in areas:
            height, width = self.processor.calculate_generate_size(
                ratio, smaller, self._side
            )
            if min(height, width) >= 1 and height * width <= most:
                return int(height), int(width)
        raise RowError(
            "bad_request",
            f"no picture of the ratio {ratio} and {area} pixels has 1 to {most} codes "
            f"of {self._side} pixels",
        )

    @property
    def _side(self) -> int:
        """Pixels of a code in each direction."""
        return int(self.model.model.vqmodel.vision_spatial_factor)

    @property
    def _most_codes(self) -> int:
        """Codes of the largest picture that the processor allows and the context
        holds."""
        return min(
            int(self.processor.image_processor.max_pixels) // self._side**2,
            self.context,
        )

    def _picture(self, block: Block) -> Media:
        """The picture of a block, decoded alone, independent of its neighbours."""
        import torch

        # the library removes the end of a picture
        ended = [*block.codes, 0, 0, 0]
        codes = torch.tensor([ended], device=self.model.device)
        with torch.inference_mode():
            pixels = self.model.decode_image_tokens(
                image_tokens=codes, height=block.height, width=block.width
            )[0]
        look = self.processor.image_processor
        mean = torch.tensor(look.image_mean).view(-1, 1, 1)
        std = torch.tensor(look.image_std).view(-1, 1, 1)
        return to_picture(pixels.float().cpu() * std + mean, "0..1")
