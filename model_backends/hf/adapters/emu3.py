"""The adapter for Emu3, which writes text and picture codes in one stream of tokens."""

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
"""Default aspect ratio and area in pixels of a single picture.

These values apply if the processor does not set its own values.
"""
_RATIO = re.compile(r"([1-9]\d{0,2}):([1-9]\d{0,2})")
_SIZE_PIECE = re.compile(r"[0-9*]+")

PLAIN_TEMPLATE = (
    "{% for m in messages %}{% for p in m['content'] %}"
    "{% if p['type'] == 'text' %}{{ p['text'] }}{% elif p['type'] == 'image' "
    "%}<image>{% endif %}"
    "{% endfor %}{% if not loop.last %}{{ '\\n' }}{% endif %}{% endfor %}"
)
"""A template that writes texts and picture placeholders without roles.

It is used for checkpoints that lack a template, such as those for drawing.
"""


class Emu3Adapter(ChatAdapter):
    """Writes text and pictures in one answer, in any order and number.

    A grammar ensures that every started picture can be drawn.

    If only pictures are requested, the answer is one picture. ``image.ratio`` (``4:3``,
    width first) and ``image.area`` (in pixels) set the size of every picture. Without
    them, the model chooses the size. The processor sets the size of a single picture.
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
        template = getattr(processor, "chat_template", None)
        if not template and not processor.tokenizer.chat_template:
            processor.chat_template = PLAIN_TEMPLATE
        return processor

    def row(self, position: int, request: Request) -> Row:
        self._rule(request)
        return super().row(position, request)

    def encode(self, rows: Sequence[Row]) -> Encoded:
        """Converts prompts to tokens only.

        Each picture is encoded alone. In a batch, the library pads all pictures to one
        size, and the codes of smaller pictures would depend on that size.
        """
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
                    unpadded = picture[None, :, :height, :width]
                    unpadded = unpadded.to(model.device, model.dtype)
                    codes.append(
                        model.model.get_image_tokens(unpadded, torch.tensor([size]))
                    )
            # the codes of all pictures in order, with line ends
            encoded["input_ids"] = ids.masked_scatter(
                ids == self._masks.tokens.placeholder,
                torch.cat(codes).to("cpu", torch.long),
            )
        return encoded

    def usual_length(self, request: Request) -> int:
        """Returns the context length if pictures are requested.

        A picture of the default size needs eight thousand tokens.
        """
        if "image" in request.wants:
            return self.context
        return super().usual_length(request)

    def logits_processors(self, rows: Sequence[Row]) -> list[Any]:
        rule = self._rule(rows[0].request)
        return [BlockGrammar(self._masks, rule, len(rows))]

    def split(self, request: Request, ids: Sequence[int]) -> RowAnswer:
        answer_pieces: list[AnswerPiece] = []
        for piece in split(ids, self._masks.tokens):
            if isinstance(piece, Words):
                # control tokens separate text from pictures, so they are removed only
                # now
                answer_pieces.append(self.text_of(piece.ids))
            elif isinstance(piece, Block):
                answer_pieces.append(self._picture(piece))
            else:
                answer_pieces.append(piece)
        return interleave(answer_pieces, self.stops(request))

    def _rule(self, request: Request) -> PictureRule:
        """Returns the rule for the pictures of an answer.

        Raises RowError for invalid options.
        """
        text = any(kind in request.wants for kind in ("text", "code"))
        pictures = "image" in request.wants
        size_options = {RATIO, AREA} & request.params.options.keys()
        rule = PictureRule(text, pictures, self._max_codes)
        if not pictures or (text and not size_options):
            return rule
        height, width = self._size(request.params)
        size = f"{height}*{width}"
        ids: list[int] = self.tokenizer.encode(size, add_special_tokens=False)
        return replace(rule, fixed=tuple(ids))

    def _size(self, params: GenerationParams) -> tuple[int, int]:
        """Returns the number of rows and columns of codes in every picture."""
        max_codes, code = self._max_codes, self._side**2
        default_ratio = getattr(self.processor, "ratio", USUAL_RATIO)
        ratio = str(params.options.get(RATIO, default_ratio))
        if not _RATIO.fullmatch(ratio):
            raise RowError(
                "bad_request",
                f"{RATIO} must be a ratio such as 4:3 (width first), not {ratio!r}",
            )
        default_area = min(
            int(getattr(self.processor, "image_area", USUAL_AREA)), max_codes * code
        )
        area = count_option(params, AREA, default_area, least=code)
        areas = [area]
        if AREA not in params.options:
            areas = [area * part // 20 for part in range(20, 0, -1)]
        for smaller in areas:
            height, width = self.processor.calculate_generate_size(
                ratio, smaller, self._side
            )
            if min(height, width) >= 1 and height * width <= max_codes:
                return int(height), int(width)
        raise RowError(
            "bad_request",
            f"a picture of ratio {ratio} and {area} pixels must consist of 1 to "
            f"{max_codes} codes, each {self._side} pixels wide",
        )

    @property
    def _side(self) -> int:
        """The width and height in pixels of the area that one code covers."""
        return int(self.model.model.vqmodel.vision_spatial_factor)

    @property
    def _max_codes(self) -> int:
        """The maximum number of codes that processor and context allow in a picture."""
        return min(
            int(self.processor.image_processor.max_pixels) // self._side**2,
            self.context,
        )

    def _picture(self, block: Block) -> Media:
        """Decodes the picture of a block.

        The picture is decoded alone, so it does not depend on other pictures.
        """
        import torch

        # the library removes the last three codes: the end marks of a picture
        padded_codes = [*block.codes, 0, 0, 0]
        codes = torch.tensor([padded_codes], device=self.model.device)
        with torch.inference_mode():
            pixels = self.model.decode_image_tokens(
                image_tokens=codes, height=block.height, width=block.width
            )[0]
        image_processor = self.processor.image_processor
        mean = torch.tensor(image_processor.image_mean).view(-1, 1, 1)
        std = torch.tensor(image_processor.image_std).view(-1, 1, 1)
        return to_picture(pixels.float().cpu() * std + mean, "0..1")
