"""Janus: writes, or draws one picture, in a call; reads pictures only to write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from types import MethodType
from typing import Any

from mmeval.backend import Capabilities
from mmeval.media import Interleaved, media_part
from mmeval.model_backends.hf.adapters.chat import ChatAdapter
from mmeval.model_backends.hf.conversation.encoding import placed, prompt_lengths
from mmeval.model_backends.hf.conversation.rows import (
    Encoded,
    Row,
    RowAnswer,
    TokenStream,
)
from mmeval.model_backends.hf.failures import RowError
from mmeval.model_backends.hf.generation.media import to_picture
from mmeval.model_backends.hf.generation.sampling import (
    RowSampler,
    Sampling,
    broken_row,
)
from mmeval.model_backends.hf.options import number_option
from mmeval.records import Message, Request

GUIDANCE = "image.guidance_scale"
USUAL_GUIDANCE = 5.0
"""The guidance of the model's authors, unless the request or the checkpoint says
otherwise."""
DRAWN = Sampling(temperature=1.0)
"""The sampling of pictures unless the request says otherwise; greedy pictures are
flat."""
UNSEEN = "pictures in the prompt were left out: this model draws from words alone"


class JanusAdapter(ChatAdapter):
    """Text as a chat model does, or one picture of a fixed size.
    ``image.guidance_scale`` says how closely a picture follows the prompt (1: as the
    words alone suggest). A picture has its fixed number of tokens, whatever
    ``max_tokens`` says."""

    @cached_property
    def capabilities(self) -> Capabilities:
        own = Capabilities.of(["text", "image"], ["text", "image"], "exclusive")
        return replace(own, options=frozenset({GUIDANCE}))

    def load(self) -> None:
        super().load()
        config = self.model.generation_config
        given = {"boi_token_id": self.tokenizer.boi_token_id}
        given |= getattr(config, "generation_kwargs", None) or {}
        config.generation_kwargs = given

    def load_model(self) -> Any:
        from transformers.generation import GenerationMixin

        model = super().load_model()
        config = model.generation_config
        self._guidance = float(config.guidance_scale or USUAL_GUIDANCE)
        # else the text would be guided, too, by a processor that does not support
        # batches
        config.guidance_scale = None
        # The class's own ``generate`` ignores logits processors, and so the rows'
        # seeds; its parent's does not.
        model.generate = MethodType(GenerationMixin.generate, model)
        return model

    def row(self, position: int, request: Request) -> Row:
        if "image" not in request.wants:
            return super().row(position, request)
        number_option(request.params, GUIDANCE, self._guidance, least=0.0)
        messages = []
        unseen = False
        for message in request.messages:
            parts = []
            for part in message.content.parts:
                if part.kind == "image" and part.media is not None:
                    unseen = True
                else:
                    parts.append(part)
            messages.append(Message(message.role, Interleaved(tuple(parts))))
        if not any(message.content.text.strip() for message in messages):
            raise RowError(
                "unsupported",
                "this model draws from words alone, and the prompt holds none",
            )
        row = super().row(position, replace(request, messages=tuple(messages)))
        if unseen:
            row = replace(row, warnings=(*row.warnings, UNSEEN))
        return replace(row, request=request)

    def encode(self, rows: Sequence[Row]) -> Encoded:
        if "image" not in rows[0].request.wants:
            return super().encode(rows)
        texts = [row.text for row in rows]
        given: dict[str, Any] = {
            "padding": True,
            "padding_side": "left",
            "return_tensors": "pt",
        }
        if all(text.startswith(self.tokenizer.bos_token or "\0") for text in texts):
            given["add_special_tokens"] = False
        encoded = dict(self.processor(text=texts, generation_mode="image", **given))
        room = self.context - self._codes
        for length in prompt_lengths(encoded):
            if length > room:
                raise RowError(
                    "too_long",
                    f"the prompt has {length} tokens, and {room} fit with the picture",
                )
        return encoded

    def sampling(self, request: Request) -> Sampling:
        return DRAWN if "image" in request.wants else super().sampling(request)

    def sampler(self, rows: Sequence[Row]) -> RowSampler:
        request = rows[0].request
        if "image" not in request.wants:
            return super().sampler(rows)
        sampling, _ = self.sampling(request).under(request.params)
        # any code, since nothing ends a picture
        return RowSampler([row.request.seed for row in rows], sampling, 0)

    def generate(
        self, rows: Sequence[Row], encoded: Encoded, max_new_tokens: int
    ) -> list[TokenStream | RowError]:
        request = rows[0].request
        if "image" not in request.wants:
            return super().generate(rows, encoded, max_new_tokens)
        import torch

        sampler = self.sampler(rows)
        guidance = number_option(request.params, GUIDANCE, self._guidance, least=0.0)
        with torch.inference_mode():
            given = placed(encoded, self.model)
            drawn = type(self.model).generate(
                self.model,
                **given,
                generation_mode="image",
                # no guidance of the library: ours is applied before the sampler chooses
                guidance_scale=1.0,
                max_length=given["input_ids"].shape[1] + self._codes,
                logits_processor=[_Guidance(guidance), sampler],
            )
        bad = broken_row(self.model.dtype)
        streams: list[TokenStream | RowError] = []
        for codes, broken in zip(drawn.tolist(), sampler.broken, strict=True):
            streams.append(bad if broken else TokenStream(codes, used=len(codes)))
        return streams

    def split(self, request: Request, ids: Sequence[int]) -> RowAnswer:
        if "image" not in request.wants:
            return super().split(request, ids)
        import torch

        # decoded alone, so that no neighbour counts
        codes = torch.tensor([ids], device=self.model.device)
        with torch.inference_mode():
            pixels = self.model.decode_image_tokens(codes)[0].float().cpu()
        look = self.processor.image_processor
        shown = pixels * torch.tensor(look.image_std) + torch.tensor(look.image_mean)
        return RowAnswer((media_part(to_picture(shown.numpy(), "0..1")),))

    @property
    def _codes(self) -> int:
        """Tokens of a picture."""
        return int(self.model.model.vision_model.config.num_image_tokens)


class _Guidance:
    """A logits processor for guidance. The first half of the rows has the prompt, the
    second has not; their scores' difference counts ``scale`` times."""

    def __init__(self, scale: float) -> None:
        self._scale = scale

    def __call__(self, _input_ids: Any, scores: Any) -> Any:
        told, untold = scores.chunk(2)
        return untold + (told - untold) * self._scale
