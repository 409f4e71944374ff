"""The adapters for Qwen-Omni: the thinker writes text, and the talker speaks it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from mmeval.backend import Capabilities
from mmeval.errors import MissingDataError, did_you_mean, is_out_of_memory
from mmeval.media import Interleaved, Media, media_part
from mmeval.model_backends.hf.adapters.chat import Answer, ChatAdapter
from mmeval.model_backends.hf.adapters.sound import MAX_CODES, VOICE, speech_cut
from mmeval.model_backends.hf.checkpoint.loading import load_weights, loading
from mmeval.model_backends.hf.conversation.encoding import placed
from mmeval.model_backends.hf.conversation.rows import Encoded, Row, TokenStream
from mmeval.model_backends.hf.failures import RowError, in_a_line
from mmeval.model_backends.hf.generation.media import to_sound
from mmeval.model_backends.hf.generation.sampling import broken_row
from mmeval.model_backends.hf.generation.seeding import seeded
from mmeval.model_backends.hf.generation.streams import cut
from mmeval.model_backends.hf.options import count_option, number_option
from mmeval.records import GenerationParams, Request, Response, message

RATE = 24_000
"""Sampling rate of speech in Hz, for all models of the family."""
TEMPERATURE, TOP_P, TOP_K = "audio.temperature", "audio.top_p", "audio.top_k"
MAX_SPEECH_CODES = 4096
"""The library's default limit on speech codes.

It is the upper bound of mmeval's own default.
"""
BASE_CODES, CODES_PER_TOKEN = 100, 40
"""Numbers that limit an answer's speech codes by the length of its text.

Without ``audio.max_tokens``, an answer of n text tokens may have ``BASE_CODES + n *
CODES_PER_TOKEN`` speech codes. This limit is several times the usual duration.
"""
_THINKER_INPUTS = ("pixel_values", "pixel_values_videos")
"""Inputs for the thinker only.

Unless their names begin with the thinker's prefix, the library also passes them to the
talker, which refuses them.
"""


@dataclass(frozen=True)
class SpeechStream(TokenStream):
    """A token stream with its speech.

    ``unfinished`` is True if a limit cut the speech. ``notes`` may explain why there is
    no speech.
    """

    speech: Media | None = None
    unfinished: bool = False
    notes: tuple[str, ...] = ()


class QwenOmniAdapter(ChatAdapter):
    """Writes text like a chat model and, if sound is requested, also speaks it.

    Text is generated in batches. Speech is generated row by row, because the talker and
    the vocoder draw from the library's global generator. ``temperature``, ``top_p`` and
    ``top_k`` apply to the text. ``audio.temperature``, ``audio.top_p`` and
    ``audio.top_k`` apply to the voice (default: the model's values). ``audio.voice``
    names a speaker. ``audio.max_tokens`` is the maximum number of speech codes. Without
    it, the maximum depends on the length of the text.

    ``model`` is the thinker, which is a chat model. ``whole`` is the complete model.
    """

    usual_voice: ClassVar[str]
    speech_system: ClassVar[str] = ""
    """The only system message with which the model was trained to speak.

    The message is empty if any message works.
    """
    whole: Any = None

    @cached_property
    def capabilities(self) -> Capabilities:
        capabilities = super().capabilities
        if not self._speaks:
            return capabilities
        with_speech = Capabilities.of(
            list(capabilities.inputs), ["text", "audio"], "parallel"
        )
        options = frozenset({VOICE, MAX_CODES, TEMPERATURE, TOP_P, TOP_K})
        return replace(with_speech, options=options)

    def load_model(self) -> Any:
        self.whole = load_weights(self.files, self.settings, self.model_class())
        return self.whole.thinker

    def close(self) -> None:
        self.whole = None
        super().close()

    def model_class(self) -> Any:
        """Returns the library's class of the complete model.

        None means the class that the configuration names.
        """
        return None

    def voices(self) -> Sequence[str]:
        """Returns the speakers of the loaded model."""
        raise NotImplementedError

    def row(self, position: int, request: Request) -> Row:
        if "audio" not in request.wants:
            return super().row(position, request)
        self._voice(request.params)
        _talker_arguments(request.params)
        systems = []
        for request_message in request.messages:
            if request_message.role == "system":
                systems.append(request_message.content.text)
        prompt, notes = request, []
        if self.speech_system and not systems:
            prompt = replace(
                request,
                messages=(message("system", self.speech_system), *request.messages),
            )
        elif self.speech_system and systems != [self.speech_system]:
            notes.append(
                "this model was trained to speak with one system message, but the "
                "prompt has a different one"
            )
        row = super().row(position, prompt)
        return replace(row, request=request, warnings=(*row.warnings, *notes))

    def answer(self, requests: Sequence[Request]) -> Iterator[Answer]:
        if not requests or "audio" not in requests[0].wants:
            yield from super().answer(requests)
            return
        # the talker draws from one generator for a whole batch, so rows run one by one
        for position, request in enumerate(requests):
            for _, response in super().answer([request]):
                yield position, response

    def generate(
        self, rows: Sequence[Row], encoded: Encoded, max_new_tokens: int
    ) -> list[TokenStream | RowError]:
        if "audio" not in rows[0].request.wants:
            return super().generate(rows, encoded, max_new_tokens)
        [row] = rows
        try:
            return [self._speak(row, encoded, max_new_tokens)]
        except RowError as error:
            return [error]
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
            [text_stream] = super().generate([row], encoded, max_new_tokens)
            # the library fails to speak an empty text
            if isinstance(text_stream, TokenStream) and not text_stream.ids:
                notes = ("no speech, because the answer has no text",)
                reason = text_stream.finish_reason
                return [
                    SpeechStream(text_stream.ids, reason, text_stream.used, notes=notes)
                ]
            message = f"the model could not speak the text ({in_a_line(error)})"
            return [RowError("internal", message)]

    def _speak(
        self,
        row: Row,
        encoded: Encoded,
        max_new_tokens: int,
    ) -> TokenStream:
        import torch

        request = row.request
        broken_error = broken_row(self.model.dtype)
        sampler, limit = self.sampler([row]), _SpeechLimit(request.params)
        counter = _CodeCounter(broken_error)
        thinker = {
            "max_new_tokens": max_new_tokens,
            "do_sample": False,
            "eos_token_id": list(self.generation.ends),
            "logits_processor": [
                *self.logits_processors([row]),
                sampler,
                limit.count_text_token,
            ],
            **self.generation_arguments(request),
        }
        with (
            torch.inference_mode(),
            seeded(request.seed, self.model.device),
            _without_penalty_warning(),
        ):
            tensors = dict(placed(encoded, self.model))
            prompt_ids = tensors["input_ids"]
            for name in _THINKER_INPUTS:
                if name in tensors:
                    tensors[f"thinker_{name}"] = tensors.pop(name)
            whole, speech = self.whole.generate(
                **tensors,
                **{f"thinker_{name}": value for name, value in thinker.items()},
                **_talker_arguments(request.params),
                talker_max_new_tokens=limit.max_codes,
                talker_logits_processor=[counter],
                talker_stopping_criteria=[limit.must_stop],
                speaker=self._voice(request.params),
                generation_mode="audio",
            )
        if sampler.broken[0]:
            raise broken_error
        text_ids = whole[0, prompt_ids.shape[1] :].tolist()
        text_stream = cut(text_ids, self.generation, max_new_tokens)
        speech_medium = to_sound(speech, RATE)
        was_cut = counter.steps >= limit.allowed_codes
        stream = SpeechStream(
            text_stream.ids,
            text_stream.finish_reason,
            text_stream.used,
            speech_medium,
            was_cut,
        )
        if not was_cut:
            return stream
        return replace(stream, notes=(speech_cut(limit.allowed_codes),))

    def _response(
        self,
        row: Row,
        stream: TokenStream,
        length: int,
    ) -> Response:
        response = super()._response(row, stream, length)
        if not isinstance(stream, SpeechStream) or response.output is None:
            return response
        wants = row.request.wants
        wants_text = "text" in wants or "code" in wants
        if stream.speech is None and not wants_text:
            return Response.failed(
                "internal", f"the answer has no speech: {'; '.join(stream.notes)}"
            )
        parts = list(response.output.parts) if wants_text else []
        if stream.speech is not None:
            parts.append(media_part(stream.speech))
        warnings = [*response.warnings, *stream.notes]
        if row.request.params.stop and response.finish_reason == "stop":
            warnings.append(
                "the speech may end with the stop string, which is not in the text"
            )
        spoken_response = replace(
            response, output=Interleaved(tuple(parts)), warnings=tuple(warnings)
        )
        return (
            replace(spoken_response, finish_reason="length")
            if stream.unfinished
            else spoken_response
        )

    def _voice(self, params: GenerationParams) -> str:
        voices = list(self.voices())
        default = (
            self.usual_voice if self.usual_voice in voices or not voices else voices[0]
        )
        requested = str(params.options.get(VOICE, default))
        for name in voices:
            if name.lower() == requested.lower():
                return name
        hint = did_you_mean(requested, voices) or f"; known: {', '.join(voices)}"
        raise RowError(
            "bad_request", f"{VOICE}={requested!r}: this model has no such voice{hint}"
        )

    @property
    def _speaks(self) -> bool:
        """True if the checkpoint has a talker. Some checkpoints have none."""
        return bool(self.files.config.get("enable_audio_output", True))


class Qwen25OmniAdapter(QwenOmniAdapter):
    """Runs Qwen2.5-Omni.

    The voices are read from ``spk_dict.pt`` without running code.
    """

    usual_voice = "Chelsie"
    # the model card requires exactly this message; with others, speech is unreliable
    speech_system = (
        "You are Qwen, a virtual human developed by the Qwen Team, Alibaba Group, "
        "capable of perceiving auditory and "
        "visual inputs, as well as generating text and speech."
    )

    def load_model(self) -> Any:
        voices = self.files.folder / "spk_dict.pt"
        if self._speaks and not voices.is_file():
            raise MissingDataError(
                f"{voices}, the file with the model's voices, is missing; fetch the "
                "model again"
            )
        thinker = super().load_model()
        if self._speaks:
            with loading(self.files, "its voices", self.settings):
                self.whole.load_speakers(voices)
        return thinker

    def model_class(self) -> Any:
        return _WithoutVoices

    def voices(self) -> Sequence[str]:
        return list(self.whole.speaker_map)


class _WithoutVoices:
    """Loads Qwen2.5-Omni with the method of its parent class.

    The class's own method does not report missing weights, and requires a file of
    voices. Checkpoints without a talker lack such a file.
    """

    @staticmethod
    def from_pretrained(folder: Any, **arguments: Any) -> Any:
        from transformers import PreTrainedModel, Qwen2_5OmniForConditionalGeneration

        return PreTrainedModel.from_pretrained.__func__(
            Qwen2_5OmniForConditionalGeneration, folder, **arguments
        )


class Qwen3OmniAdapter(QwenOmniAdapter):
    """Runs Qwen3-Omni, which speaks with any system message.

    The model's configuration names the voices.
    """

    usual_voice = "ethan"

    def load_model(self) -> Any:
        thinker = super().load_model()
        # the library reads it from the talker's configuration if a prompt contains
        # sounds and pictures
        if self._speaks:
            self.whole.talker.config.audio_config = thinker.config.audio_config
        return thinker

    def voices(self) -> Sequence[str]:
        speakers: Mapping[str, int] = self.whole.config.talker_config.speaker_id or {}
        return list(speakers)


class _CodeCounter:
    """A logits processor that counts speech codes and does not change scores.

    Raises ``broken`` for invalid scores, before a code is drawn.
    """

    def __init__(self, broken: RowError) -> None:
        self.steps = 0
        self._broken = broken

    def __call__(self, _input_ids: Any, scores: Any) -> Any:
        self.steps += 1
        if not scores.amax(dim=-1).isfinite().all():
            raise self._broken
        return scores


class _SpeechLimit:
    """The maximum number of speech codes.

    A request can set this maximum. Otherwise it depends on the number of text tokens,
    which are counted while the thinker writes. Raises RowError for an invalid number.
    """

    def __init__(self, params: GenerationParams) -> None:
        self.max_codes = count_option(params, MAX_CODES, MAX_SPEECH_CODES)
        self._by_text = MAX_CODES not in params.options
        self._text_tokens = self._speech_codes = 0

    @property
    def allowed_codes(self) -> int:
        if not self._by_text:
            return self.max_codes
        return min(self.max_codes, BASE_CODES + CODES_PER_TOKEN * self._text_tokens)

    def count_text_token(self, _input_ids: Any, scores: Any) -> Any:
        """Counts a text token, as a logits processor that does not change scores."""
        self._text_tokens += 1
        return scores

    def must_stop(self, input_ids: Any, _scores: Any, **_arguments: Any) -> Any:
        """Returns True once the speech has reached its limit.

        The talker uses this method as a stopping criterion.
        """
        self._speech_codes += 1
        is_over = self._speech_codes >= self.allowed_codes
        return input_ids.new_full((len(input_ids),), is_over).bool()


@contextmanager
def _without_penalty_warning() -> Iterator[None]:
    """Suppresses the library's warning about the talker's repetition penalty.

    The warning does not apply, because the penalty should cover only the talker's own
    codes.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="Passing `repetition_penalty` with `inputs_embeds`"
        )
        yield


def _talker_arguments(params: GenerationParams) -> dict[str, Any]:
    """Returns the options of the voice under the library's names.

    Raises RowError for invalid values.
    """
    options = params.options
    arguments: dict[str, Any] = {}
    if TEMPERATURE in options:
        temperature = number_option(params, TEMPERATURE, 1.0, least=0.0)
        if temperature:
            arguments["talker_temperature"] = temperature
        else:
            arguments["talker_do_sample"] = False
    if TOP_P in options:
        share = number_option(params, TOP_P, 1.0, least=0.0)
        arguments["talker_top_p"] = min(1.0, share)
    if TOP_K in options:
        arguments["talker_top_k"] = count_option(params, TOP_K, 1, least=0)
    return arguments
