"""Chameleon: reads words and pictures as one stream of tokens, and writes words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from mmeval.backend import Capabilities
from mmeval.model_backends.hf.adapters.chat import ChatAdapter
from mmeval.model_backends.hf.conversation.rows import Row

TEMPLATE = (
    "{{% for m in messages %}}{{% for p in m['content'] %}}"
    "{{% if p['type'] == 'text' %}}{{{{ p['text'] }}}}{{% elif p['type'] == 'image' %}}<image>{{% endif %}}"
    "{{% endfor %}}{{% if not loop.last %}}{separator}{{% endif %}}{{% endfor %}}"
)
"""Turns have separators between them and no names; the processor adds the last separator."""


class ChameleonAdapter(ChatAdapter):
    """Text about text and pictures, as a chat model.
    The model can also draw, but the library has no decoder for its picture codes, so that it never begins a picture."""

    @cached_property
    def capabilities(self) -> Capabilities:
        return replace(Capabilities.of(["text", "image"], ["text"], "single"), options=frozenset())

    def load_processor(self) -> Any:
        processor = super().load_processor()
        if not getattr(processor, "chat_template", None):
            processor.chat_template = TEMPLATE.format(separator=processor.tokenizer.sep_token)
        return processor

    def logits_processors(self, rows: Sequence[Row]) -> list[Any]:  # noqa: ARG002  the same for all
        from transformers.generation.logits_process import SuppressTokensLogitsProcessor

        read = self.processor
        marks = (read.image_start_token_id, read.image_end_token_id, read.image_token_id)
        of_pictures = sorted({*marks, *self.model.model.vocabulary_mapping.bpe2img})
        return [SuppressTokensLogitsProcessor(of_pictures, device=self.model.device)]
