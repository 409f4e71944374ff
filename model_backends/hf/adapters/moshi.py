"""The adapter for Moshi, which hears speech and answers with text and speech."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from mmeval.backend import Capabilities, Limit
from mmeval.media import Interleaved, Part
from mmeval.model_backends.hf.adapters.sound import (
    SECONDS,
    USUAL_SECONDS,
    SoundAdapter,
    read_prompt,
    seconds_option,
    text_of,
)
from mmeval.model_backends.hf.checkpoint.loading import load_processor, load_weights
from mmeval.model_backends.hf.conversation.literals import literals_of
from mmeval.model_backends.hf.conversation.messages import Chat, InputSpec
from mmeval.model_backends.hf.failures import RowError
from mmeval.records import Request, Response, Usage


class MoshiAdapter(SoundAdapter):
    """Answers the speech of a prompt with speech and its text.

    The model hears and speaks at the same time. Here it is silent while it hears the
    prompt, and then it speaks while it hears silence. It reads no text, so the text of
    a prompt is left out. ``audio.seconds`` is the duration of the answer. The model
    does not end its answer itself, so the duration does not cut it.
    """

    @cached_property
    def capabilities(self) -> Capabilities:
        capabilities = Capabilities.of(["text", "audio"], ["text", "audio"], "parallel")
        inputs = {**capabilities.inputs, "audio": Limit(max_items=1, min_items=1)}
        return replace(capabilities, inputs=inputs, options=frozenset({SECONDS}))

    def load(self) -> None:
        import transformers

        self.rate = self.read_rate()
        self._tokenizer = load_processor(self.files, self.settings)
        self._input_spec = InputSpec(
            frozenset(self.capabilities.inputs),
            literals_of(self._tokenizer),
            sound_rate=self.rate,
        )
        self.model = load_weights(
            self.files, self.settings, transformers.MoshiForConditionalGeneration
        )
        self._frame_rate = float(self.model.config.audio_encoder_config.frame_rate)

    def respond(self, request: Request) -> Response:
        import torch

        chat = read_prompt(request, self._input_spec)
        samples = _only_sound(chat)
        heard = math.ceil(len(samples) / self.rate * self._frame_rate)
        context = self.model.config.max_position_embeddings
        # a frame for the start, and one for the answer
        self.check_length(heard, context - 2)
        most_seconds = (context - heard - 1) / self._frame_rate
        seconds = seconds_option(request.params, self._usual_seconds, most_seconds)
        frames = math.ceil(seconds * self._frame_rate)

        user = torch.from_numpy(samples).to(self.model.device, self.model.dtype)
        user = user.view(1, 1, -1)
        # the model writes the padding token while it is silent
        silent_text = torch.full(
            (1, heard), self._tokenizer.pad_token_id, device=self.model.device
        )
        with self.drawing(request.seed):
            generated = self.model.generate(
                input_ids=silent_text,
                user_audio_codes=self._codes(user),
                moshi_audio_codes=self._codes(torch.zeros_like(user)),
                # the library would compare the prompt with the padding token
                attention_mask=torch.ones_like(silent_text),
                max_new_tokens=frames,
            )
        answer = generated.audio_sequences[..., -round(seconds * self.rate) :]
        usage = Usage(heard, frames)
        response = self.response(answer, usage, [*chat.warnings, *_left_out(chat)])
        ids = generated.sequences[0, -frames:]
        text = self._tokenizer.decode(ids, skip_special_tokens=True).strip()
        return replace(response, output=_wanted(request, text, response))

    def _codes(self, samples: Any) -> Any:
        """Returns the codes of samples of the shape (1, 1, n)."""
        import torch

        count = self.model.config.num_codebooks
        with torch.inference_mode():
            return self.model.audio_encoder.encode(samples, num_quantizers=count)[0]

    @property
    def _usual_seconds(self) -> float:
        frames = self.model.generation_config.max_new_tokens
        return frames / self._frame_rate if frames else USUAL_SECONDS


def _only_sound(chat: Chat) -> Any:
    """Returns the samples of the speech in a conversation.

    Raises RowError if there is none, or more than one sound.
    """
    sounds = chat.objects("audio")
    if len(sounds) == 1:
        return sounds[0]
    raise RowError(
        "unsupported",
        f"this model answers one recording of speech, but the prompt has {len(sounds)}",
    )


def _left_out(chat: Chat) -> Sequence[str]:
    if not text_of(chat.messages):
        return ()
    return ("the text was left out: this model hears speech and reads no text",)


def _wanted(request: Request, text: str, response: Response) -> Interleaved:
    """Returns the requested ones of the text and the speech of an answer."""
    assert response.output is not None
    parts: list[Part] = []
    if set(request.wants) != {"audio"}:
        parts += Interleaved.from_text(text).parts
    if not request.wants or "audio" in request.wants:
        parts += response.output.parts
    return Interleaved(tuple(parts))
