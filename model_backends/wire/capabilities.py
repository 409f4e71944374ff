"""Reads the capabilities of a model, which the user declares."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from mmeval.backend import Capabilities, Limit, OutputMode
from mmeval.errors import UnknownNameError
from mmeval.media import PartKind
from mmeval.model_backends.wire.formats import Formats


def kinds_in(
    argument: str,
    value: str | Sequence[str],
    allowed: Sequence[str],
    hint: str = "",
) -> list[str]:
    """Returns the kinds in a string such as ``text+image``, or in a list of names.

    Raises UnknownNameError for an unknown kind.
    """
    names = value.split("+") if isinstance(value, str) else list(value)
    for name in names:
        if name not in allowed:
            raise UnknownNameError(
                f"kind in {argument}",
                str(name),
                allowed,
                hint or f"Known: {', '.join(allowed)}.",
            )
    return names


def named_capabilities(
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    declarable: Collection[PartKind],
    options: Collection[str],
    formats: Formats,
    max_images: int = 0,
) -> Capabilities:
    """Creates capabilities from the names of kinds.

    ``declarable`` are all kinds that the interface can return. ``options`` are the
    options that it supports. ``max_images`` is the maximum number of pictures in a
    request (0: any number).
    """
    is_interleaved = len(set(outputs) - {"code"}) > 1
    mode: OutputMode = "interleaved" if is_interleaved else "single"
    capabilities = Capabilities.of(inputs, outputs, mode)
    limits: dict[PartKind, Limit] = {}
    for kind, limit in capabilities.inputs.items():
        most = max_images if kind == "image" and max_images else limit.max_items
        mimes = formats.mimes(kind)
        limits[kind] = replace(limit, max_items=most, formats=mimes)
    return replace(
        capabilities,
        inputs=limits,
        declarable=frozenset(declarable),
        options=frozenset(options),
        is_certain=False,
    )
