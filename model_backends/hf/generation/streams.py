"""Reads a checkpoint's generation settings, and cuts the output into token streams."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.model_backends.hf.conversation.rows import TokenStream
from mmeval.model_backends.hf.generation.sampling import CUTS, Sampling

_log = logging.getLogger(__name__)

DEFAULT_MAX_TOKENS = 1024
"""Default maximum number of tokens in an answer."""

_GREEDY_VALUES: Mapping[str, Any] = {
    "do_sample": False,
    "num_return_sequences": 1,
    "max_length": None,
    "max_new_tokens": None,
    "max_time": None,
    "stop_strings": None,
    "remove_invalid_values": False,
    "prompt_lookup_num_tokens": None,
    "use_mtp": None,
    "is_assistant": False,
    "return_dict_in_generate": False,
    **dict.fromkeys(CUTS),
    "temperature": None,
}
"""Values with which ``generate`` writes one greedy answer per row.

mmeval's own logits processors apply the checkpoint's values, except those that only
change the speed.
"""
_UNSUPPORTED: Mapping[str, Any] = {
    "num_beams": 1,
    "penalty_alpha": 0.0,
    "dola_layers": None,
    "constraints": None,
    "force_words_ids": None,
    "token_healing": False,
    "watermarking_config": None,
    "min_length": 0,
    "forced_eos_token_id": None,
    "encoder_repetition_penalty": 1.0,
    "encoder_no_repeat_ngram_size": 0,
}
"""Unsupported settings with their neutral values.

These are methods that do not choose tokens one by one, and settings with a result that
depends on the padding, and therefore on other rows.
"""


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """A checkpoint's settings for generation.

    The settings are the sampling, the maximum length of answers, the end tokens, the
    padding token, the context and the stop strings. Our sampler writes the first end
    token.
    """

    sampling: Sampling
    max_tokens: int
    ends: tuple[int, ...]
    pad: int
    context: int
    """The context length in tokens, or 0 if it is unknown."""
    stop: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Unsupported settings, such as ``num_beams=4``."""


def read_generation(model: Any, tokenizer: Any) -> GenerationSettings:
    """Reads the checkpoint's settings, and changes the model's ``generation_config``.

    The changed configuration writes one greedy answer per row, because our processors
    choose the tokens. Other settings, such as a repetition penalty, are kept.
    """
    config = model.generation_config
    eos = config.eos_token_id
    ends = [eos] if isinstance(eos, int) else list(eos or ())
    stop = config.stop_strings
    if isinstance(stop, str):
        stop = (stop,)
    left_out = []
    for name, neutral in _UNSUPPORTED.items():
        value = getattr(config, name, None)
        if value is not None and value != neutral:
            left_out.append(f"{name}={value}")
    if tokenizer.eos_token_id is not None and tokenizer.eos_token_id not in ends:
        ends.append(tokenizer.eos_token_id)
    generation = GenerationSettings(
        sampling=Sampling.of(config),
        max_tokens=config.max_new_tokens or DEFAULT_MAX_TOKENS,
        ends=tuple(ends),
        pad=_padding(config, tokenizer, ends),
        context=context_of(model.config),
        stop=tuple(stop or ()),
        left_out=tuple(left_out),
    )
    for name, value in {**_GREEDY_VALUES, **_UNSUPPORTED}.items():
        if hasattr(config, name):
            setattr(config, name, value)
    config.eos_token_id, config.pad_token_id = (
        (list(generation.ends) or None),
        generation.pad,
    )
    return generation


def log_left_out(name: str, generation: GenerationSettings) -> None:
    """Logs a warning about the unsupported settings of a model, if it has any."""
    if generation.left_out:
        _log.warning(
            "%s: %s in its generation_config.json has no effect: mmeval chooses tokens "
            "one by one, and for each row as if it were alone",
            name,
            ", ".join(generation.left_out),
        )


def context_of(config: Any) -> int:
    """Returns the context length in a model's configuration, or 0 if it is unknown."""
    text = config.get_text_config(decoder=True)
    return int(getattr(text, "max_position_embeddings", None) or 0)


def cut(
    generated: Sequence[int],
    generation: GenerationSettings,
    limit: int,
) -> TokenStream:
    """Returns one row's stream up to the first end token, without padding.

    ``limit`` is the maximum number of tokens. A row that reached this limit without an
    end token was cut off.
    """
    for position, token in enumerate(generated):
        if token in generation.ends:
            return TokenStream(generated[:position], "stop", position + 1)
    count = len(generated)
    while count and generated[count - 1] == generation.pad:
        count -= 1
    was_cut = len(generated) >= limit and count == len(generated)
    return TokenStream(generated[:count], "length" if was_cut else "stop", count)


def stop_criterion(tokenizer: Any, stop: Sequence[str]) -> Any | None:
    """Returns the library's stopping criterion for stop strings.

    Returns None if no token can write them. Creating the criterion is slow, because the
    library searches the vocabulary.
    """
    from transformers import StopStringCriteria

    try:
        return StopStringCriteria(tokenizer, list(stop))
    except ValueError:  # harmless: the answer is searched for stop strings later
        return None


class StopWords:
    """A stopping criterion that stops a row when its answer ends with a stop string.

    The library's criterion also reads the end of the prompt, so a line end in the
    template could stop an answer.
    """

    def __init__(self, criterion: Any) -> None:
        self._criterion, self._prompt_length = criterion, 0

    def __call__(self, input_ids: Any, scores: Any, **arguments: Any) -> Any:
        if not self._prompt_length:  # the first call is after the first token
            self._prompt_length = input_ids.shape[1] - 1
        return self._criterion(input_ids[:, self._prompt_length :], scores, **arguments)


def _padding(
    config: Any,
    tokenizer: Any,
    ends: Sequence[int],
) -> int:
    """Returns the padding token.

    If possible, the padding token is not an end token. Otherwise, if a stop string has
    ended an answer, the end token after it would be counted as a token of the answer.
    """
    candidates = (config.pad_token_id, tokenizer.pad_token_id, *ends, 0)
    # some checkpoints set the padding token to -1
    default: int = next(
        token for token in candidates if token is not None and token >= 0
    )
    other_tokens = [token for token in tokenizer.all_special_ids if token not in ends]
    return other_tokens[0] if default in ends and other_tokens else default
