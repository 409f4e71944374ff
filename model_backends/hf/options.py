"""Checks the values of modality options such as ``image.guidance_scale``."""

from __future__ import annotations

import math

from mmeval.model_backends.hf.failures import RowError
from mmeval.records import GenerationParams

_TEXT_PARAMETERS = ("max_tokens", "temperature", "top_p", "top_k", "stop")


def number_option(
    params: GenerationParams, name: str, default: float, *, least: float = -math.inf
) -> float:
    """Returns a number option of a request.

    Raises RowError ``bad_request`` for a value that is not a number, and for a number
    below ``least``.
    """
    value = params.options.get(name, default)
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number) and number >= least:
            return number
    above = f" of at least {least:g}" if math.isfinite(least) else ""
    raise RowError("bad_request", f"{name} must be a number{above}, not {value!r}")


def count_option(
    params: GenerationParams, name: str, default: int, *, least: int = 1
) -> int:
    """Returns an integer option of a request.

    Raises RowError ``bad_request`` like ``number_option``, and for a fraction.
    """
    number = number_option(params, name, default, least=least)
    if number != int(number):
        raise RowError(
            "bad_request",
            f"{name} must be a whole number, not {params.options[name]!r}",
        )
    return int(number)


def unused_text_parameters(params: GenerationParams, model: str) -> list[str]:
    """Returns a warning about parameters of text, for a model that does not use them.

    ``model`` begins the warning, such as ``a pipeline of diffusers``.
    """
    names = [
        name for name in _TEXT_PARAMETERS if getattr(params, name) not in (None, ())
    ]
    return [f"{model} does not use {', '.join(names)}"] if names else []
