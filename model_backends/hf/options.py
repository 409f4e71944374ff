"""Checks the values of modality options (``image.guidance_scale``), row by row."""

from __future__ import annotations

import math

from mmeval.model_backends.hf.failures import RowError
from mmeval.records import GenerationParams


def number_option(
    params: GenerationParams, name: str, usual: float, *, least: float = -math.inf
) -> float:
    """The number of a request's option.
    Raises RowError ``bad_request`` for another type, or a number that is too small."""
    value = params.options.get(name, usual)
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number) and number >= least:
            return number
    above = f" of at least {least:g}" if math.isfinite(least) else ""
    raise RowError("bad_request", f"{name} must be a number{above}, given: {value!r}")


def count_option(
    params: GenerationParams, name: str, usual: int, *, least: int = 1
) -> int:
    """A whole-number option. Raises RowError ``bad_request`` for another type."""
    number = number_option(params, name, usual, least=least)
    if number != int(number):
        raise RowError(
            "bad_request",
            f"{name} must be a whole number, given: {params.options[name]!r}",
        )
    return int(number)
