"""The adapter for VITS and other text-to-speech models that return a waveform."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

from mmeval.backend import Capabilities
from mmeval.errors import MissingExtraError, UsageError, is_out_of_memory
from mmeval.media import Interleaved, media_part
from mmeval.model_backends.hf.adapter import Adapter
from mmeval.model_backends.hf.checkpoint.loading import (
    load_processor,
    load_weights,
    tokenizer_of,
)
from mmeval.model_backends.hf.conversation.messages import words_of
from mmeval.model_backends.hf.failures import RowError, in_a_line
from mmeval.model_backends.hf.generation.media import to_sound
from mmeval.model_backends.hf.generation.seeding import seeded
from mmeval.model_backends.hf.options import count_option
from mmeval.records import Request, Response, Usage
from mmeval.system.wording import listed

VOICE = "audio.voice"
MAX_SHOWN = 10
"""Maximum number of characters that a warning lists."""


class SpeechInput(NamedTuple):
    """The tokens of the text to speak, and warnings about omissions."""

    ids: Any
    warnings: tuple[str, ...]


class VitsAdapter(Adapter):
    """Reads the prompt aloud, without its system messages.

    System messages are left out, because the model does not follow instructions.
    Requests run one by one, because the model draws from the library's global
    generator. ``audio.voice`` is the number of a speaker if the model has several.
    Parameters for temperature and length have no effect, because the model uses its own
    values.
    """

    model: Any = None

    @cached_property
    def capabilities(self) -> Capabilities:
        capabilities = Capabilities.of(["text"], ["audio"], "single")
        options = [VOICE] if self._voices > 1 else []
        return replace(capabilities, options=frozenset(options))

    def load(self) -> None:
        import transformers

        self._rate = sampling_rate(self.files.config)
        if not self._rate:
            raise UsageError(
                f"{self.files.name}: sampling_rate is missing in config.json; fetch "
                "the model again, or choose another one"
            )
        self._tokenizer = tokenizer_of(load_processor(self.files, self.settings))
        for need, package in (("phonemize", "phonemizer"), ("is_uroman", "uroman")):
            # without the package, the tokenizer fails for every text
            if getattr(self._tokenizer, need, False) and find_spec(package) is None:
                raise MissingExtraError(package)
        self.model = load_weights(
            self.files, self.settings, transformers.AutoModelForTextToWaveform
        )

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        for position, request in enumerate(requests):
            try:
                yield position, self._speech(request)
            except RowError as error:
                yield position, error.response

    def close(self) -> None:
        self.model = None
        gc.collect()

    @property
    def _voices(self) -> int:
        return int(self.files.config.get("num_speakers") or 1)

    def _speech(self, request: Request) -> Response:
        voice = count_option(request.params, VOICE, 0, least=0)
        if voice >= self._voices:
            raise RowError(
                "bad_request",
                f"{VOICE} must be a number from 0 to {self._voices - 1}, not {voice}",
            )
        speech_input = self._speech_input(request)
        speaker = {"speaker_id": voice} if self._voices > 1 else {}
        waveform = self._waveform(speech_input, request.seed, speaker)
        output = Interleaved((media_part(to_sound(waveform, self._rate)),))
        usage = Usage(speech_input.ids.shape[1], 0)
        return Response(output, usage=usage, warnings=speech_input.warnings)

    def _waveform(
        self,
        speech_input: SpeechInput,
        seed: int,
        arguments: Mapping[str, Any],
    ) -> Any:
        """Returns the waveform of a text as floats of shape (1, n)."""
        import torch

        try:
            with torch.inference_mode(), seeded(seed, self.model.device):
                output = self.model(
                    input_ids=speech_input.ids.to(self.model.device), **arguments
                )
        except (
            AttributeError,
            LookupError,
            MemoryError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            if is_out_of_memory(error):
                raise
            raise RowError(
                "internal", f"the model could not speak the text ({in_a_line(error)})"
            ) from None
        waveform = getattr(output, "waveform", None)
        if waveform is None:
            kind = type(self.model).__name__
            raise RowError(
                "unsupported",
                f"{kind} does not return a waveform, so this adapter cannot use it; "
                "name another adapter",
            )
        return waveform

    def _speech_input(self, request: Request) -> SpeechInput:
        """Converts the text of a request to tokens.

        Raises RowError if no character can be spoken.
        """
        text, warnings = _text(request)
        if not text:
            raise RowError("bad_request", "the prompt contains no text to speak")
        tokenizer = self._tokenizer
        all_tokens = tokenizer.tokenize(text)
        tokens = [token for token in all_tokens if token != tokenizer.pad_token]
        unspoken = _unspoken(text, tokens, tokenizer)
        shown = listed(list(map(repr, unspoken)), MAX_SHOWN)
        known_tokens = [token for token in tokens if token != tokenizer.unk_token]
        if not "".join(known_tokens).strip():
            raise RowError(
                "bad_request",
                f"the model's vocabulary lacks all characters of the prompt: {shown}",
            )
        if unspoken:
            warnings.append(
                f"characters that the model's vocabulary lacks were not spoken: {shown}"
            )
        ids = self._tokenizer(text, return_tensors="pt")["input_ids"]
        if self.settings.max_length and ids.shape[1] > self.settings.max_length:
            raise RowError(
                "too_long",
                f"the text has {ids.shape[1]} tokens, but max_length is "
                f"{self.settings.max_length}",
            )
        return SpeechInput(ids, tuple(warnings))


def sampling_rate(config: Mapping[str, Any]) -> int:
    """Returns the sampling rate in Hz from the configuration of a model or its vocoder.

    Returns 0 if the rate is missing.
    """
    rate = config.get("sampling_rate")
    if isinstance(rate, int) and rate > 0:
        return rate
    for name, value in config.items():
        if name.endswith("_config") and isinstance(value, Mapping):
            rate = sampling_rate(value)
            if rate:
                return rate
    return 0


def _text(request: Request) -> tuple[str, list[str]]:
    """Returns all text except system messages, and warnings about omissions.

    Words are joined with single spaces. A vocabulary may lack the line end, and two
    words without a separator would become one word.
    """
    texts = []
    warnings: dict[str, None] = {}
    for message in request.messages:
        content = message.content
        for part in content.parts:
            if part.media is not None:
                raise RowError(
                    "unsupported", f"this model reads only text, not {part.kind}"
                )
        if message.role != "system":
            texts.append("".join(map(words_of, content.parts)))
        elif content.text.strip():
            warnings.setdefault(
                "the system message was left out: this model reads its prompt aloud "
                "and does not follow instructions"
            )
    return " ".join(" ".join(texts).split()), list(warnings)


def _unspoken(
    text: str,
    tokens: Sequence[str],
    tokenizer: Any,
) -> list[str]:
    """Returns the characters that a tokenizer of letters drops or does not know.

    For tokenizers of phonemes or romanized text, returns the unknown tokens.
    """
    if getattr(tokenizer, "phonemize", False) or getattr(tokenizer, "is_uroman", False):
        pieces = set(filter(str.strip, tokens))
        return sorted(pieces - tokenizer.get_vocab().keys())
    tokenized = set[str]()
    for token in tokens:
        if token != tokenizer.unk_token:
            tokenized.update(token)
    letters = set("".join(text.split()))
    return sorted(
        letter for letter in letters if not {letter, letter.lower()} & tokenized
    )
