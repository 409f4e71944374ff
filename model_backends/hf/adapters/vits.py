"""Text to speech in one pass: VITS, and other models that return a waveform."""

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
"""Maximum number of characters in a warning's list."""


class SpeechInput(NamedTuple):
    """The text to speak as tokens, and warnings about what is left out."""

    ids: Any
    warnings: tuple[str, ...]


class VitsAdapter(Adapter):
    """Reads a prompt aloud, without its system messages: the model does not follow
    instructions.

    Requests run one by one, because the model draws from the library's global
    generator. ``audio.voice`` is the number of a speaker, if the model has several.
    Temperatures and lengths have no effect: the model has its own.
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
                f"{self.files.name}: its config.json has no sampling_rate, which "
                "speech needs; fetch the model again, or choose another"
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
                f"{VOICE} must be a number from 0 to {self._voices - 1}, given: "
                f"{voice}",
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
        """The waveform of a text: floats of shape (1, n)."""
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
                "internal", f"the text could not be spoken ({in_a_line(error)})"
            ) from None
        waveform = getattr(output, "waveform", None)
        if waveform is None:
            kind = type(self.model).__name__
            raise RowError(
                "unsupported",
                f"{kind} does not return a waveform, which this adapter needs; name "
                "another adapter",
            )
        return waveform

    def _speech_input(self, request: Request) -> SpeechInput:
        """The text of a request as tokens. Raises RowError if no character can be
        spoken."""
        text, warnings = _text(request)
        if not text:
            raise RowError(
                "bad_request", "the prompt holds no text that could be spoken"
            )
        tokenizer = self._tokenizer
        all_tokens = tokenizer.tokenize(text)
        tokens = [token for token in all_tokens if token != tokenizer.pad_token]
        unspoken = _unspoken(text, tokens, tokenizer)
        shown = listed(list(map(repr, unspoken)), MAX_SHOWN)
        known_tokens = [token for token in tokens if token != tokenizer.unk_token]
        if not "".join(known_tokens).strip():
            raise RowError(
                "bad_request",
                f"the model's vocabulary has no character of the prompt: {shown}",
            )
        if unspoken:
            warnings.append(
                f"not spoken, because the model's vocabulary lacks them: {shown}"
            )
        ids = self._tokenizer(text, return_tensors="pt")["input_ids"]
        if self.settings.max_length and ids.shape[1] > self.settings.max_length:
            raise RowError(
                "too_long",
                f"the text has {ids.shape[1]} tokens; max_length allows "
                f"{self.settings.max_length}",
            )
        return SpeechInput(ids, tuple(warnings))


def sampling_rate(config: Mapping[str, Any]) -> int:
    """The sampling rate in Hz in a model's configuration or its vocoder's; 0 if
    missing."""
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
    """All text except system messages, and warnings about omissions. Words are joined
    with single blanks: a vocabulary may lack the line end, which would join words."""
    texts = []
    warnings: dict[str, None] = {}
    for message in request.messages:
        content = message.content
        for part in content.parts:
            if part.media is not None:
                raise RowError(
                    "unsupported", f"this model takes only text, not {part.kind}"
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
    """The characters that a tokenizer of letters drops or does not know. For other
    tokenizers, the unknown pieces."""
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
