"""The adapter for VITS and other text-to-speech models that return a waveform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

from mmeval.backend import Capabilities
from mmeval.errors import MissingExtraError
from mmeval.model_backends.hf.adapters.sound import (
    VOICE,
    SoundAdapter,
    read_prompt,
    required_text,
    text_of,
)
from mmeval.model_backends.hf.checkpoint.loading import (
    load_processor,
    load_weights,
    tokenizer_of,
)
from mmeval.model_backends.hf.conversation.messages import InputSpec
from mmeval.model_backends.hf.failures import RowError
from mmeval.model_backends.hf.options import count_option
from mmeval.records import Request, Response, Usage
from mmeval.system.wording import listed

MAX_SHOWN = 10
"""Maximum number of characters that a warning lists."""


class SpeechInput(NamedTuple):
    """The tokens of the text to speak, and warnings about omissions."""

    ids: Any
    warnings: tuple[str, ...]


class VitsAdapter(SoundAdapter):
    """Reads the prompt aloud.

    ``audio.voice`` is the number of a speaker if the model has several.
    """

    @cached_property
    def capabilities(self) -> Capabilities:
        capabilities = Capabilities.of(["text"], ["audio"], "single")
        options = [VOICE] if self._voices > 1 else []
        return replace(capabilities, options=frozenset(options))

    def load(self) -> None:
        import transformers

        self.rate = self.read_rate()
        self._input_spec = InputSpec(frozenset(self.capabilities.inputs))
        self._tokenizer = tokenizer_of(load_processor(self.files, self.settings))
        for need, package in (("phonemize", "phonemizer"), ("is_uroman", "uroman")):
            # without the package, the tokenizer fails for every text
            if getattr(self._tokenizer, need, False) and find_spec(package) is None:
                raise MissingExtraError(package)
        self.model = load_weights(
            self.files, self.settings, transformers.AutoModelForTextToWaveform
        )

    @property
    def _voices(self) -> int:
        return int(self.files.config.get("num_speakers") or 1)

    def respond(self, request: Request) -> Response:
        voice = count_option(request.params, VOICE, 0, least=0)
        if voice >= self._voices:
            raise RowError(
                "bad_request",
                f"{VOICE} must be a number from 0 to {self._voices - 1}, not {voice}",
            )
        speech_input = self._speech_input(request)
        speaker = {"speaker_id": voice} if self._voices > 1 else {}
        with self.drawing(request.seed):
            output = self.model(
                input_ids=speech_input.ids.to(self.model.device), **speaker
            )
        waveform = getattr(output, "waveform", None)
        if waveform is None:
            kind = type(self.model).__name__
            raise RowError(
                "unsupported",
                f"{kind} does not return a waveform, so this adapter cannot use it; "
                "name another adapter",
            )
        usage = Usage(speech_input.ids.shape[1], 0)
        return self.response(waveform, usage, speech_input.warnings)

    def _speech_input(self, request: Request) -> SpeechInput:
        """Converts the text of a request to tokens.

        Raises RowError if no character can be spoken.
        """
        chat = read_prompt(request, self._input_spec)
        text = required_text(text_of(chat.messages))
        warnings = list(chat.warnings)
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
        self.check_length(ids.shape[1])
        return SpeechInput(ids, tuple(warnings))


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
