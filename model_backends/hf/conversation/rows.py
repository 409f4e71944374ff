"""Rows: the requests of a batch in the steps from prompt to answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mmeval.media import Part
from mmeval.model_backends.hf.conversation.messages import Chat
from mmeval.records import FinishReason, Request

Encoded: TypeAlias = Mapping[str, Any]
"""The arguments of ``model.generate`` by the processor's names (``input_ids``,
``pixel_values`` ...): tensors, which have no types here."""


@dataclass(frozen=True, eq=False)
class Row:
    """A request with its position in the batch, and its prompt as text and objects."""

    position: int
    request: Request
    chat: Chat
    text: str
    """The whole prompt as the chat template writes it, placeholders of media
    included."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class TokenStream:
    """The generated tokens of one row, without the prompt and the end."""

    ids: Sequence[int]
    finish_reason: FinishReason = "stop"
    used: int = 0
    """Tokens generated, the one that ended the answer included."""


@dataclass(frozen=True)
class RowAnswer:
    """An answer's parts. ``finish_reason`` is set where they say more than the
    stream."""

    parts: tuple[Part, ...]
    warnings: tuple[str, ...] = ()
    finish_reason: FinishReason | None = None
