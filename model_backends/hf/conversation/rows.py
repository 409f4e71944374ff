"""Rows: the requests of a batch on their way from prompt to answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mmeval.media import Part
from mmeval.model_backends.hf.conversation.messages import Chat
from mmeval.records import FinishReason, Request

Encoded: TypeAlias = Mapping[str, Any]
"""The arguments of ``model.generate``, under the names that the processor uses.

Examples of names are ``input_ids`` and ``pixel_values``. Tensors are ``Any`` here.
"""


@dataclass(frozen=True, eq=False)
class Row:
    """A request, its position in the batch, and its prompt as text and objects."""

    position: int
    request: Request
    chat: Chat
    text: str
    """The complete prompt that the chat template writes. Media are placeholders."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class TokenStream:
    """The generated tokens of one row, without the prompt and the end token."""

    ids: Sequence[int]
    finish_reason: FinishReason = "stop"
    used: int = 0
    """Number of generated tokens, including the end token."""


@dataclass(frozen=True)
class RowAnswer:
    """An answer's parts.

    If ``finish_reason`` is set, it overrides the finish reason of the token stream.
    """

    parts: tuple[Part, ...]
    warnings: tuple[str, ...] = ()
    finish_reason: FinishReason | None = None
