"""Rows: one request on its way through a batch, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mmeval.content import Part
from mmeval.model_backends.hf.conversation.messages import Chat
from mmeval.records import FinishReason, Request

Encoded: TypeAlias = Mapping[str, Any]
"""What ``model.generate`` takes, under the processor's names (``input_ids``, ``attention_mask``, ``pixel_values`` ...):
tensors, which have no types here."""


@dataclass(frozen=True, eq=False)
class Row:
    """A request that can be asked: its position in the batch that the core gave, and its prompt as text and objects."""

    position: int
    request: Request
    chat: Chat
    text: str
    """The whole prompt as the chat template writes it, placeholders of media included."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stream:
    """The tokens that a model has given for one row: without the prompt, without what ended them."""

    ids: Sequence[int]
    finish_reason: FinishReason = "stop"
    used: int = 0
    """Tokens generated, the one that ended the answer included."""


@dataclass(frozen=True)
class Made:
    """An answer as parts, in order. ``finish_reason`` is set where the parts say more than the stream does."""

    parts: tuple[Part, ...]
    warnings: tuple[str, ...] = ()
    finish_reason: FinishReason | None = None
