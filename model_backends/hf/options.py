"""Checks the values of modality options such as ``image.guidance_scale``."""

from __future__ import annotations

import math

from mmeval.model_backends.hf.failures import RowError
from mmeval.records import GenerationParams


def number_option(
    params: GenerationParams, name: str, default: float, *, least: float = -math.inf
) -> float:
    """A number option of a request. Raises RowError ``bad_request`` for another type
    and for a number below ``least``."""
    value = params.options.get(name, default)
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number) and number >= least:
            return number
    above = f" of at least {least:g}" if math.isfinite(least) else ""
    raise RowError("bad_request", f"{name} must be a number{above}, given: {value!r}")


def count_option(
    params: GenerationParams, name: str, default: int, *, least: int = 1
) -> int:
    """A whole-number option of a request. Raises RowError as ``number_option`` does,
    and for a fraction."""
    number = number_option(params, name, default, least=least)
    if number != int(number):
        raise RowError(
            "bad_request",
            f"{name} must be a whole number, given: {params.options[name]!r}",
        )
    return int(number)
