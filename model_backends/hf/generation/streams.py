"""A checkpoint's settings of generation; ``generate``'s output as token streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.model_backends.hf.conversation.rows import TokenStream
from mmeval.model_backends.hf.generation.sampling import CUTS, Sampling

DEFAULT_MAX_TOKENS = 1024
"""Tokens of an answer, unless the request or the checkpoint says otherwise."""

_PLAIN: Mapping[str, Any] = {
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
"""Values for one greedy answer a row; the original ones are applied by our own
processors, or are for speed."""
_LEFT_OUT: Mapping[str, Any] = {
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
"""Settings that have no effect here, with their neutral value: other methods than token
by token, and those where the library's result depends on the padding by other rows."""


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """A checkpoint's own settings. They are sampling, the length of answers, the tokens
    that end an answer (we write the first), the padding token, the context in tokens
    (0: unknown), and words that end an answer. ``left_out`` are those without an effect
    here (``num_beams=4``)."""

    sampling: Sampling
    max_tokens: int
    ends: tuple[int, ...]
    pad: int
    context: int
    stop: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def read_generation(model: Any, tokenizer: Any) -> GenerationSettings:
    """Read the checkpoint's settings, and leave its ``generation_config`` plain. Plain:
    one greedy answer a row, since our processors choose tokens; others (a repetition
    penalty) stay."""
    config = model.generation_config
    stated = config.eos_token_id
    ends = [stated] if isinstance(stated, int) else list(stated or ())
    stop = config.stop_strings
    if isinstance(stop, str):
        stop = (stop,)
    left_out = []
    for name, nothing in _LEFT_OUT.items():
        value = getattr(config, name, None)
        if value is not None and value != nothing:
            left_out.append(f"{name}={value}")
    if tokenizer.eos_token_id is not None and tokenizer.eos_token_id not in ends:
        ends.append(tokenizer.eos_token_id)
    own = GenerationSettings(
        sampling=Sampling.of(config),
        max_tokens=config.max_new_tokens or DEFAULT_MAX_TOKENS,
        ends=tuple(ends),
        pad=_padding(config, tokenizer, ends),
        context=context_of(model.config),
        stop=tuple(stop or ()),
        left_out=tuple(left_out),
    )
    for name, value in {**_PLAIN, **_LEFT_OUT}.items():
        if hasattr(config, name):
            setattr(config, name, value)
    config.eos_token_id, config.pad_token_id = (list(own.ends) or None), own.pad
    return own


def context_of(config: Any) -> int:
    """The context of a model in tokens, by its configuration; 0 if unknown."""
    text = config.get_text_config(decoder=True)
    return int(getattr(text, "max_position_embeddings", None) or 0)


def cut(
    generated: Sequence[int],
    own: GenerationSettings,
    limit: int,
) -> TokenStream:
    """One row's stream up to the first token that ends an answer, without padding.
    ``limit`` is the number of allowed tokens; a row that used them all without an end
    was cut."""
    for at, token in enumerate(generated):
        if token in own.ends:
            return TokenStream(generated[:at], "stop", at + 1)
    count = len(generated)
    while count and generated[count - 1] == own.pad:
        count -= 1
    was_cut = len(generated) >= limit and count == len(generated)
    return TokenStream(generated[:count], "length" if was_cut else "stop", count)


def words_that_end(tokenizer: Any, stop: Sequence[str]) -> Any | None:
    """The library's stopping criterion for words; None where no token can write them.
    It is made from the whole vocabulary. ``Any``: the library's own class."""
    from transformers import StopStringCriteria

    try:
        return StopStringCriteria(tokenizer, list(stop))
    except ValueError:  # the answer is searched for the words anyway
        return None


class StopWords:
    """A stopping criterion: a row is done when its answer ends with a stop word.
    ``words``, the library's criterion, would also read the prompt's last words, and end
    an answer for a line end of the template."""

    def __init__(self, words: Any) -> None:
        self._words, self._begin = words, 0

    def __call__(self, input_ids: Any, scores: Any, **given: Any) -> Any:
        if not self._begin:  # the first call is after the first token
            self._begin = input_ids.shape[1] - 1
        return self._words(input_ids[:, self._begin :], scores, **given)


def _padding(
    config: Any,
    tokenizer: Any,
    ends: Sequence[int],
) -> int:
    """The token after the end of an answer; if possible none that ends an answer.
    That would count as a token of an answer that a stop word has ended."""
    named = (config.pad_token_id, tokenizer.pad_token_id, *ends, 0)
    # some checkpoints say -1
    usual: int = next(token for token in named if token is not None and token >= 0)
    others = [token for token in tokenizer.all_special_ids if token not in ends]
    return others[0] if usual in ends and others else usual
