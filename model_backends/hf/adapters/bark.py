"""The adapter for Bark, which speaks a text in one of its voices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from mmeval.backend import Capabilities
from mmeval.errors import did_you_mean
from mmeval.model_backends.hf.adapters.sound import (
    MAX_CODES,
    VOICE,
    SoundAdapter,
    read_prompt,
    required_text,
    speech_cut,
    text_of,
)
from mmeval.model_backends.hf.checkpoint.loading import load_processor, load_weights
from mmeval.model_backends.hf.conversation.literals import literals_of
from mmeval.model_backends.hf.conversation.messages import InputSpec
from mmeval.model_backends.hf.failures import RowError
from mmeval.model_backends.hf.options import count_option
from mmeval.records import GenerationParams, Request, Response, Usage

VOICES_FILE = "speaker_embeddings_path.json"
_FOLDER_KEY = "repo_or_path"


class BarkAdapter(SoundAdapter):
    """Reads the prompt aloud. Its words may name sounds, such as ``[laughs]``.

    ``audio.voice`` is the name of a voice in the checkpoint. Without it, the model
    chooses a voice. ``audio.max_tokens`` is the maximum number of speech codes. Its
    default is the checkpoint's maximum.
    """

    @cached_property
    def capabilities(self) -> Capabilities:
        capabilities = Capabilities.of(["text"], ["audio"], "single")
        options = {VOICE, MAX_CODES} if self._voices else {MAX_CODES}
        return replace(capabilities, options=frozenset(options))

    @cached_property
    def _voices(self) -> Sequence[str]:
        names = self.files.json(VOICES_FILE)
        return [name for name in names if name != _FOLDER_KEY]

    def load(self) -> None:
        import transformers
        from transformers.models.bark.generation_configuration_bark import (
            BarkSemanticGenerationConfig,
        )

        self.rate = self.read_rate()
        self._processor = load_processor(self.files, self.settings)
        self._input_spec = InputSpec(
            frozenset(self.capabilities.inputs), literals_of(self._processor)
        )
        self.model = load_weights(self.files, self.settings, transformers.BarkModel)
        # the words become codes in the first of three models, which decides the length
        self._semantic = BarkSemanticGenerationConfig(
            **self.model.generation_config.semantic_config
        )

    def respond(self, request: Request) -> Response:
        voice = self._voice(request.params)
        limit = count_option(request.params, MAX_CODES, self._semantic.max_new_tokens)
        chat = read_prompt(request, self._input_spec)
        text = required_text(text_of(chat.messages))
        # the library cuts a longer text without a message
        longest = self._semantic.max_input_semantic_length
        counter = _CodeCounter()
        with self.drawing(request.seed):
            encoded = self._processor(
                text=[text], voice_preset=voice, max_length=longest
            )
            prompt_tokens = int(encoded["attention_mask"].sum())
            self.check_length(prompt_tokens, longest)
            waveform = self.model.generate(
                **encoded.to(self.model.device),
                semantic_max_new_tokens=limit,
                semantic_stopping_criteria=[counter],
            )
        usage = Usage(prompt_tokens, counter.codes)
        if counter.codes < limit:
            return self.response(waveform, usage, chat.warnings)
        warnings = (*chat.warnings, speech_cut(limit))
        return self.response(waveform, usage, warnings, "length")

    def _voice(self, params: GenerationParams) -> str | None:
        """Returns the name of the voice, or None without one. Raises RowError."""
        if VOICE not in params.options:
            return None
        voice = str(params.options[VOICE])
        if voice in self._voices:
            return voice
        hint = did_you_mean(voice, self._voices)
        known = f"; known: {', '.join(self._voices)}"
        raise RowError(
            "bad_request",
            f"{VOICE}={voice!r}: this model has no such voice{hint or known}",
        )


class _CodeCounter:
    """A stopping criterion that counts speech codes and never stops."""

    def __init__(self) -> None:
        self.codes = 0

    def __call__(self, input_ids: Any, _scores: Any, **_arguments: Any) -> Any:
        self.codes += 1
        return input_ids.new_zeros(len(input_ids)).bool()
