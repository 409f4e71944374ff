"""The adapter for MusicGen, which makes music from a description."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

from mmeval.backend import Capabilities
from mmeval.model_backends.hf.adapters.sound import (
    SECONDS,
    USUAL_SECONDS,
    SoundAdapter,
    read_prompt,
    required_text,
    seconds_option,
    text_of,
)
from mmeval.model_backends.hf.checkpoint.loading import load_processor, load_weights
from mmeval.model_backends.hf.conversation.encoding import placed
from mmeval.model_backends.hf.conversation.literals import literals_of
from mmeval.model_backends.hf.conversation.messages import InputSpec
from mmeval.model_backends.hf.options import number_option
from mmeval.records import Request, Response, Usage

GUIDANCE_SCALE = "audio.guidance_scale"


class MusicgenAdapter(SoundAdapter):
    """Makes music from the prompt, which describes it.

    ``audio.seconds`` is the duration of the music. Its default is the checkpoint's
    maximum number of tokens. The model does not end its music itself, so the duration
    does not cut it. ``audio.guidance_scale`` states how closely the music follows the
    prompt (1: without guidance).
    """

    @cached_property
    def capabilities(self) -> Capabilities:
        capabilities = Capabilities.of(["text"], ["audio"], "single")
        return replace(capabilities, options=frozenset({SECONDS, GUIDANCE_SCALE}))

    def load(self) -> None:
        import transformers

        self.rate = self.read_rate()
        self._processor = load_processor(self.files, self.settings)
        self._input_spec = InputSpec(
            frozenset(self.capabilities.inputs), literals_of(self._processor)
        )
        self.model = load_weights(
            self.files, self.settings, transformers.MusicgenForConditionalGeneration
        )
        decoder = self.model.config.decoder
        self.channels = decoder.audio_channels
        self._frame_rate = int(self.model.config.audio_encoder.frame_rate)
        # each codebook of a channel starts one step after the codebook before it
        self._delay: int = decoder.num_codebooks // decoder.audio_channels - 1
        # the first step is the start token
        most_frames = decoder.max_position_embeddings - self._delay - 1
        self._most_seconds = float(most_frames / self._frame_rate)

    def respond(self, request: Request) -> Response:
        chat = read_prompt(request, self._input_spec)
        text = required_text(text_of(chat.messages))
        encoded = self._processor(text=[text], return_tensors="pt")
        prompt_tokens = encoded["input_ids"].shape[1]
        self.check_length(prompt_tokens)
        seconds = seconds_option(
            request.params, self._usual_seconds, self._most_seconds
        )
        # fewer frames than codebooks have no delays
        frames = max(math.ceil(seconds * self._frame_rate), self._delay + 1)
        guidance_scale = number_option(
            request.params,
            GUIDANCE_SCALE,
            self.model.generation_config.guidance_scale or 1.0,
            least=1.0,
        )
        with self.drawing(request.seed):
            waveform = self.model.generate(
                **placed(encoded, self.model),
                max_new_tokens=frames + self._delay,
                guidance_scale=guidance_scale,
            )
        samples = round(seconds * self.rate)
        usage = Usage(prompt_tokens, frames)
        return self.response(waveform[..., :samples], usage, chat.warnings)

    @property
    def _usual_seconds(self) -> float:
        generation = self.model.generation_config
        steps: int | None = generation.max_new_tokens
        if steps is None and generation.max_length is not None:
            steps = generation.max_length - 1
        if steps is None or steps <= self._delay:
            return USUAL_SECONDS
        return (steps - self._delay) / self._frame_rate
