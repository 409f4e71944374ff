"""Qwen-Omni: a thinker writes text, and a talker speaks it, in one call."""

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
"""Hz, of all speech of this family."""
VOICE, MAX_CODES = "audio.voice", "audio.max_tokens"
TEMPERATURE, TOP_P, TOP_K = "audio.temperature", "audio.top_p", "audio.top_k"
MOST_CODES = 4096
"""The most codes of speech unless the request says otherwise: the library's own
limit."""
CODES_TO_BEGIN, CODES_A_TOKEN = 100, 40
"""Codes of speech that each word allows, up to that limit: several times the usual
duration."""
_FOR_THE_THINKER = ("pixel_values", "pixel_values_videos")
"""The library passes these to the talker as well, which refuses them, unless they are
named for the thinker."""


@dataclass(frozen=True)
class SpeechStream(TokenStream):
    """A stream with its speech (maybe cut by a limit), or ``notes`` why there is
    none."""

    speech: Media | None = None
    unfinished: bool = False
    notes: tuple[str, ...] = ()


class QwenOmniAdapter(ChatAdapter):
    """Text as a chat model does and, where sound is wanted, the speech of that text.

    Texts are asked in batches. Speech is asked row by row: talker and vocoder draw from
    the library's one generator. ``temperature``, ``top_p`` and ``top_k`` steer the
    words; ``audio.temperature``, ``audio.top_p`` and ``audio.top_k`` the voice, which
    has the model's own unless they are given. ``audio.voice`` names a speaker;
    ``audio.max_tokens`` limits the codes of speech; without it the number of words
    does.

    ``model`` is the thinker, a chat model of its own; ``whole`` is all of it.
    """

    usual_voice: ClassVar[str]
    speech_system: ClassVar[str] = ""
    """The only system message that the model was taught to speak with; empty if any
    works."""
    whole: Any = None

    @cached_property
    def capabilities(self) -> Capabilities:
        own = super().capabilities
        if not self._speaks:
            return own
        spoken = Capabilities.of(list(own.inputs), ["text", "audio"], "parallel")
        options = frozenset({VOICE, MAX_CODES, TEMPERATURE, TOP_P, TOP_K})
        return replace(spoken, options=options)

    def load_model(self) -> Any:
        self.whole = load_weights(self.files, self.settings, self.model_class())
        return self.whole.thinker

    def close(self) -> None:
        self.whole = None
        super().close()

    def model_class(self) -> Any:
        """The library's class of the whole model; None for the one in its
        configuration."""
        return None

    def voices(self) -> Sequence[str]:
        """The speakers of the loaded model."""
        raise NotImplementedError

    def row(self, position: int, request: Request) -> Row:
        if "audio" not in request.wants:
            return super().row(position, request)
        self._voice(request.params)
        _talker_arguments(request.params)
        systems = [one.content.text for one in request.messages if one.role == "system"]
        asked, notes = request, []
        if self.speech_system and not systems:
            asked = replace(
                request,
                messages=(message("system", self.speech_system), *request.messages),
            )
        elif self.speech_system and systems != [self.speech_system]:
            notes.append(
                "this model was taught to speak under one system message, and the "
                "prompt has another"
            )
        row = super().row(position, asked)
        return replace(row, request=request, warnings=(*row.warnings, *notes))

    def answer(self, requests: Sequence[Request]) -> Iterator[Answer]:
        if not requests or "audio" not in requests[0].wants:
            yield from super().answer(requests)
            return
        # The talker draws from one generator for a whole batch, so rows are asked one
        # by one.
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
            [written] = super().generate([row], encoded, max_new_tokens)
            # the library cannot speak an empty text
            if isinstance(written, TokenStream) and not written.ids:
                notes = ("no words, so no speech",)
                reason = written.finish_reason
                return [SpeechStream(written.ids, reason, written.used, notes=notes)]
            text = f"the text could not be spoken ({in_a_line(error)})"
            return [RowError("internal", text)]

    def _speak(
        self,
        row: Row,
        encoded: Encoded,
        max_new_tokens: int,
    ) -> TokenStream:
        import torch

        request = row.request
        broken = broken_row(self.model.dtype)
        sampler, bound = self.sampler([row]), _SpeechLimit(request.params)
        watch = _CodeCounter(broken)
        thinker = {
            "max_new_tokens": max_new_tokens,
            "do_sample": False,
            "eos_token_id": list(self.generation.ends),
            "logits_processor": [*self.logits_processors([row]), sampler, bound.words],
            **self.generation_arguments(request),
        }
        with (
            torch.inference_mode(),
            seeded(request.seed, self.model.device),
            _unpunished(),
        ):
            given = dict(placed(encoded, self.model))
            prompt = given["input_ids"]
            for name in _FOR_THE_THINKER:
                if name in given:
                    given[f"thinker_{name}"] = given.pop(name)
            whole, speech = self.whole.generate(
                **given,
                **{f"thinker_{name}": value for name, value in thinker.items()},
                **_talker_arguments(request.params),
                talker_max_new_tokens=bound.most,
                talker_logits_processor=[watch],
                talker_stopping_criteria=[bound.ends],
                speaker=self._voice(request.params),
                generation_mode="audio",
            )
        if sampler.broken[0]:
            raise broken
        written = whole[0, prompt.shape[1] :].tolist()
        said = cut(written, self.generation, max_new_tokens)
        sound = to_sound(speech, RATE)
        unfinished = watch.steps >= bound.codes
        spoken = SpeechStream(
            said.ids, said.finish_reason, said.used, sound, unfinished
        )
        if not unfinished:
            return spoken
        note = f"the speech was cut after {bound.codes} codes; {MAX_CODES} allows more"
        return replace(spoken, notes=(note,))

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
        wants_words = "text" in wants or "code" in wants
        if stream.speech is None and not wants_words:
            return Response.failed(
                "internal", f"no speech came: {'; '.join(stream.notes)}"
            )
        parts = list(response.output.parts) if wants_words else []
        if stream.speech is not None:
            parts.append(media_part(stream.speech))
        warnings = [*response.warnings, *stream.notes]
        if row.request.params.stop and response.finish_reason == "stop":
            warnings.append(
                "the speech may end with the stop sequence, which the text leaves out"
            )
        said = replace(
            response, output=Interleaved(tuple(parts)), warnings=tuple(warnings)
        )
        return replace(said, finish_reason="length") if stream.unfinished else said

    def _voice(self, params: GenerationParams) -> str:
        known = list(self.voices())
        usual = self.usual_voice if self.usual_voice in known or not known else known[0]
        asked = str(params.options.get(VOICE, usual))
        for name in known:
            if name.lower() == asked.lower():
                return name
        hint = did_you_mean(asked, known) or f"; known: {', '.join(known)}"
        raise RowError(
            "bad_request", f"{VOICE}={asked!r} is no voice of this model{hint}"
        )

    @property
    def _speaks(self) -> bool:
        """Whether the checkpoint has its talker: some are published without."""
        return bool(self.files.config.get("enable_audio_output", True))


class Qwen25OmniAdapter(QwenOmniAdapter):
    """Qwen2.5-Omni; its voices in ``spk_dict.pt`` are read without running code."""

    usual_voice = "Chelsie"
    # The model's card asks for exactly this message; with others its speech is
    # unreliable.
    speech_system = (
        "You are Qwen, a virtual human developed by the Qwen Team, Alibaba Group, "
        "capable of perceiving auditory and "
        "visual inputs, as well as generating text and speech."
    )

    def load_model(self) -> Any:
        voices = self.files.folder / "spk_dict.pt"
        if self._speaks and not voices.is_file():
            raise MissingDataError(
                f"{voices}: there is no such file; it holds the model's voices, fetch "
                "the model again"
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
    """Loads Qwen2.5-Omni like its parent class, without a file of voices. Its own
    method requires that, which a checkpoint without a talker lacks, and does not report
    missing weights."""

    @staticmethod
    def from_pretrained(folder: Any, **given: Any) -> Any:
        from transformers import PreTrainedModel, Qwen2_5OmniForConditionalGeneration

        return PreTrainedModel.from_pretrained.__func__(
            Qwen2_5OmniForConditionalGeneration, folder, **given
        )


class Qwen3OmniAdapter(QwenOmniAdapter):
    """Qwen3-Omni: speaks under any system message; its configuration names its
    voices."""

    usual_voice = "ethan"

    def load_model(self) -> Any:
        thinker = super().load_model()
        # the library asks the talker's configuration for it where sounds and pictures
        # are in a prompt
        if self._speaks:
            self.whole.talker.config.audio_config = thinker.config.audio_config
        return thinker

    def voices(self) -> Sequence[str]:
        known: Mapping[str, int] = self.whole.config.talker_config.speaker_id or {}
        return list(known)


class _CodeCounter:
    """A logits processor that counts the codes of a speech and changes no score.
    Raises RowError ``broken`` for invalid scores before a code is drawn."""

    def __init__(self, broken: RowError) -> None:
        self.steps = 0
        self._broken = broken

    def __call__(self, _input_ids: Any, scores: Any) -> Any:
        self.steps += 1
        if not scores.amax(dim=-1).isfinite().all():
            raise self._broken
        return scores


class _SpeechLimit:
    """The most codes of a speech: the request's number, else by its words. These are
    counted while the thinker writes. Raises RowError for an invalid number."""

    def __init__(self, params: GenerationParams) -> None:
        self.most = count_option(params, MAX_CODES, MOST_CODES)
        self._by_words = MAX_CODES not in params.options
        self._tokens = self._spoken = 0

    @property
    def codes(self) -> int:
        if not self._by_words:
            return self.most
        return min(self.most, CODES_TO_BEGIN + CODES_A_TOKEN * self._tokens)

    def words(self, _input_ids: Any, scores: Any) -> Any:
        """A logits processor of the thinker that changes nothing: one more token of
        text."""
        self._tokens += 1
        return scores

    def ends(self, input_ids: Any, _scores: Any, **_given: Any) -> Any:
        """A stopping criterion of the talker: whether the speech is as long as it may
        be."""
        self._spoken += 1
        is_over = self._spoken >= self.codes
        return input_ids.new_full((len(input_ids),), is_over).bool()


@contextmanager
def _unpunished() -> Iterator[None]:
    """Without the library's remark on how Qwen3-Omni's talker punishes repetitions.
    It punishes those of its own codes alone, as it should."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="Passing `repetition_penalty` with `inputs_embeds`"
        )
        yield


def _talker_arguments(params: GenerationParams) -> dict[str, Any]:
    """The voice options by the library's names. Raises RowError for invalid values."""
    options = params.options
    given: dict[str, Any] = {}
    if TEMPERATURE in options:
        temperature = number_option(params, TEMPERATURE, 1.0, least=0.0)
        if temperature:
            given["talker_temperature"] = temperature
        else:
            given["talker_do_sample"] = False
    if TOP_P in options:
        share = number_option(params, TOP_P, 1.0, least=0.0)
        given["talker_top_p"] = min(1.0, share)
    if TOP_K in options:
        given["talker_top_k"] = count_option(params, TOP_K, 1, least=0)
    return given
