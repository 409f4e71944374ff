"""The adapter for Janus, which writes text or draws one picture in a call.

It reads pictures only if it writes text.
"""

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
"""The default guidance scale of the model's authors."""
PICTURE_SAMPLING = Sampling(temperature=1.0)
"""The default sampling for pictures, since greedy sampling makes flat pictures."""
PICTURES_LEFT_OUT = (
    "pictures in the prompt were left out: this model draws only from text"
)


class JanusAdapter(ChatAdapter):
    """Writes text like a chat model, or draws one picture of a fixed size.

    ``image.guidance_scale`` is the weight of the prompt in a picture (1: no guidance).
    A picture has a fixed number of tokens, so ``max_tokens`` has no effect on it.
    """

    @cached_property
    def capabilities(self) -> Capabilities:
        capabilities = Capabilities.of(
            ["text", "image"], ["text", "image"], "exclusive"
        )
        return replace(capabilities, options=frozenset({GUIDANCE}))

    def load(self) -> None:
        super().load()
        config = self.model.generation_config
        arguments = {"boi_token_id": self.tokenizer.boi_token_id}
        arguments |= getattr(config, "generation_kwargs", None) or {}
        config.generation_kwargs = arguments

    def load_model(self) -> Any:
        from transformers.generation import GenerationMixin

        model = super().load_model()
        config = model.generation_config
        self._guidance = float(config.guidance_scale or USUAL_GUIDANCE)
        # with a scale, the library would guide text too, with a processor that does
        # not support batches
        config.guidance_scale = None
        # the class's own ``generate`` ignores logits processors, and therefore the
        # rows' seeds
        model.generate = MethodType(GenerationMixin.generate, model)
        return model

    def row(self, position: int, request: Request) -> Row:
        if "image" not in request.wants:
            return super().row(position, request)
        number_option(request.params, GUIDANCE, self._guidance, least=0.0)
        messages = []
        has_pictures = False
        for message in request.messages:
            parts = []
            for part in message.content.parts:
                if part.kind == "image" and part.media is not None:
                    has_pictures = True
                else:
                    parts.append(part)
            messages.append(Message(message.role, Interleaved(tuple(parts))))
        if not any(message.content.text.strip() for message in messages):
            raise RowError(
                "unsupported",
                "this model draws only from text, but the prompt contains no text",
            )
        row = super().row(position, replace(request, messages=tuple(messages)))
        if has_pictures:
            row = replace(row, warnings=(*row.warnings, PICTURES_LEFT_OUT))
        return replace(row, request=request)

    def encode(self, rows: Sequence[Row]) -> Encoded:
        if "image" not in rows[0].request.wants:
            return super().encode(rows)
        texts = [row.text for row in rows]
        arguments: dict[str, Any] = {
            "padding": True,
            "padding_side": "left",
            "return_tensors": "pt",
        }
        if all(text.startswith(self.tokenizer.bos_token or "\0") for text in texts):
            arguments["add_special_tokens"] = False
        encoded = dict(self.processor(text=texts, generation_mode="image", **arguments))
        max_length = self.context - self._codes
        for length in prompt_lengths(encoded):
            if length > max_length:
                raise RowError(
                    "too_long",
                    f"the prompt has {length} tokens, but the maximum for drawing a "
                    f"picture is {max_length}",
                )
        return encoded

    def sampling(self, request: Request) -> Sampling:
        return (
            PICTURE_SAMPLING if "image" in request.wants else super().sampling(request)
        )

    def sampler(self, rows: Sequence[Row]) -> RowSampler:
        request = rows[0].request
        if "image" not in request.wants:
            return super().sampler(rows)
        sampling, _ = self.sampling(request).overridden_by(request.params)
        # no token ends a picture, so any code can be the end token
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
            tensors = placed(encoded, self.model)
            picture_codes = type(self.model).generate(
                self.model,
                **tensors,
                generation_mode="image",
                # our own guidance runs before the sampler
                guidance_scale=1.0,
                max_length=tensors["input_ids"].shape[1] + self._codes,
                logits_processor=[_Guidance(guidance), sampler],
            )
        broken_error = broken_row(self.model.dtype)
        streams: list[TokenStream | RowError] = []
        for codes, broken in zip(picture_codes.tolist(), sampler.broken, strict=True):
            streams.append(
                broken_error if broken else TokenStream(codes, used=len(codes))
            )
        return streams

    def split(self, request: Request, ids: Sequence[int]) -> RowAnswer:
        if "image" not in request.wants:
            return super().split(request, ids)
        import torch

        # decoded alone, so that it does not depend on other rows
        codes = torch.tensor([ids], device=self.model.device)
        with torch.inference_mode():
            pixels = self.model.decode_image_tokens(codes)[0].float().cpu()
        image_processor = self.processor.image_processor
        denormalized = pixels * torch.tensor(image_processor.image_std) + torch.tensor(
            image_processor.image_mean
        )
        return RowAnswer((media_part(to_picture(denormalized.numpy(), "0..1")),))

    @property
    def _codes(self) -> int:
        """The number of tokens in a picture."""
        return int(self.model.model.vision_model.config.num_image_tokens)


class _Guidance:
    """A logits processor for classifier-free guidance.

    The first half of the rows contains the prompt, and the second half does not. The
    difference of their scores is multiplied by ``scale``.
    """

    def __init__(self, scale: float) -> None:
        self._scale = scale

    def __call__(self, _input_ids: Any, scores: Any) -> Any:
        conditional, unconditional = scores.chunk(2)
        return unconditional + (conditional - unconditional) * self._scale
