"""The steps that all adapters of sound models share: reading, drawing and answering."""

from __future__ import annotations

import gc
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from mmeval.errors import UsageError, is_out_of_memory
from mmeval.media import Interleaved, media_part
from mmeval.model_backends.hf.adapter import Adapter
from mmeval.model_backends.hf.conversation.messages import Chat, InputSpec, to_chat
from mmeval.model_backends.hf.failures import RowError, in_a_line
from mmeval.model_backends.hf.generation.media import to_sound
from mmeval.model_backends.hf.generation.seeding import seeded
from mmeval.model_backends.hf.options import (
    number_option,
    unused_text_parameters,
)
from mmeval.records import FinishReason, GenerationParams, Request, Response, Usage

VOICE, MAX_CODES = "audio.voice", "audio.max_tokens"
SECONDS = "audio.seconds"
LEAST_SECONDS = 0.1
USUAL_SECONDS = 10.0
"""Duration if neither the request nor the checkpoint states one."""


class SoundAdapter(Adapter):
    """Answers requests one by one, without their system messages.

    System messages are left out, because the models do not follow instructions. Most of
    the models draw from the library's global generator, so their requests cannot run
    together. Unless an adapter says otherwise, an answer is one sound, and parameters
    for temperature and length have no effect.
    """

    uses_text_parameters = False
    """True if parameters such as the temperature have an effect."""
    model: Any = None
    rate: int
    """Sampling rate of the sounds in Hz. ``load`` sets it."""
    channels = 1

    @abstractmethod
    def respond(self, request: Request) -> Response:
        """Returns the response with the sound. Raises RowError."""

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        for position, request in enumerate(requests):
            try:
                yield position, self._with_unused(self.respond(request), request)
            except RowError as error:
                yield position, error.response

    def _with_unused(self, response: Response, request: Request) -> Response:
        if self.uses_text_parameters:
            return response
        unused = unused_text_parameters(request.params, "this model")
        return replace(response, warnings=(*response.warnings, *unused))

    def close(self) -> None:
        self.model = None
        gc.collect()

    def read_rate(self) -> int:
        """Returns the sampling rate in Hz. Raises UsageError if it is missing."""
        rate = sampling_rate(self.files.config)
        if not rate:
            raise UsageError(
                f"{self.files.name}: sampling_rate is missing in config.json; fetch "
                "the model again, or choose another one"
            )
        return rate

    def check_length(self, tokens: int, longest: int = 0) -> None:
        """Raises RowError ``too_long`` for a prompt with too many tokens.

        ``longest`` is the maximum of the model (0: no maximum).
        """
        limits = [limit for limit in (self.settings.max_length, longest) if limit]
        if limits and tokens > min(limits):
            raise RowError(
                "too_long",
                f"the prompt has {tokens} tokens, but the maximum is {min(limits)}",
            )

    @contextmanager
    def drawing(self, seed: int) -> Iterator[None]:
        """Seeds the model's draws, and converts its errors to errors of the row."""
        import torch

        try:
            with torch.inference_mode(), seeded(seed, self.model.device):
                yield
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
                "internal", f"the model could not make the sound ({in_a_line(error)})"
            ) from None

    def response(
        self,
        waveform: Any,
        usage: Usage,
        warnings: Sequence[str],
        finish_reason: FinishReason = "stop",
    ) -> Response:
        """Returns the response with a waveform. Raises RowError like ``to_sound``."""
        sound = media_part(to_sound(waveform, self.rate, self.channels))
        return Response(
            Interleaved((sound,)),
            finish_reason=finish_reason,
            usage=usage,
            warnings=tuple(warnings),
        )


def read_prompt(request: Request, input_spec: InputSpec) -> Chat:
    """Returns the conversation without system messages, with a warning about them.

    Raises RowError like ``to_chat``.
    """
    messages = [message for message in request.messages if message.role != "system"]
    chat = to_chat(replace(request, messages=tuple(messages)), input_spec)
    if len(messages) == len(request.messages):
        return chat
    warning = "the system message was left out: this model does not follow instructions"
    return replace(chat, warnings=(warning, *chat.warnings))


def text_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """Returns the text of messages in one line.

    Words are joined with single spaces. A vocabulary may lack the line end, and two
    words without a separator would become one word.
    """
    texts = []
    for message in messages:
        texts += [item["text"] for item in message["content"] if item["type"] == "text"]
    return " ".join(" ".join(texts).split())


def required_text(text: str) -> str:
    """Returns a text. Raises RowError if it has no words."""
    if not text.strip():
        raise RowError("bad_request", "the prompt contains no text for the sound")
    return text


def seconds_option(params: GenerationParams, usual: float, most: float) -> float:
    """Returns the duration of a sound, for models that do not end it themselves.

    ``usual`` is the duration if the request states none. Raises RowError if it is
    longer than ``most``.
    """
    seconds = number_option(params, SECONDS, min(usual, most), least=LEAST_SECONDS)
    if seconds > most:
        raise RowError(
            "bad_request", f"{SECONDS} must be at most {most:g}, not {seconds:g}"
        )
    return seconds


def speech_cut(codes: int) -> str:
    """Returns the warning about speech that a limit has cut."""
    return f"the speech was cut after {codes} codes; raise {MAX_CODES} to allow more"


def sampling_rate(config: Mapping[str, Any]) -> int:
    """Returns the sampling rate in Hz from the configuration of a model or its codec.

    Returns 0 if the rate is missing.
    """
    rate = config.get("sampling_rate")
    if isinstance(rate, int) and rate > 0:
        return rate
    for value in config.values():
        if isinstance(value, Mapping):
            rate = sampling_rate(value)
            if rate:
                return rate
    return 0
