"""The adapters for SeamlessM4T, which translates text or speech to text and speech."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from mmeval.backend import Capabilities, Limit, OutputMode
from mmeval.errors import UsageError, did_you_mean, is_out_of_memory
from mmeval.media import Interleaved, Part, media_part
from mmeval.model_backends.hf.adapters.sound import (
    MAX_CODES,
    VOICE,
    SoundAdapter,
    speech_cut,
)
from mmeval.model_backends.hf.capabilities import overridden
from mmeval.model_backends.hf.checkpoint.loading import (
    load_processor,
    load_weights,
    tokenizer_of,
)
from mmeval.model_backends.hf.conversation.literals import literals_of
from mmeval.model_backends.hf.conversation.messages import InputSpec, to_chat
from mmeval.model_backends.hf.conversation.rows import TokenStream
from mmeval.model_backends.hf.failures import RowError, in_a_line
from mmeval.model_backends.hf.generation.media import to_sound
from mmeval.model_backends.hf.generation.sampling import RowSampler, broken_row
from mmeval.model_backends.hf.generation.streams import (
    cut,
    log_left_out,
    read_generation,
)
from mmeval.model_backends.hf.options import count_option
from mmeval.records import Request, Response, Usage
from mmeval.system.wording import listed

TEXT_LANGUAGE, AUDIO_LANGUAGE = "text.language", "audio.language"
SOURCE_LANGUAGE = "text.source_language"
DEFAULT_LANGUAGE = "eng"
MAX_SHOWN = 5
"""Maximum number of languages that an error lists."""
_GENERATION_FILE = "generation_config.json"
_TEXT_CODES = "text_decoder_lang_to_code_id"
_SPEECH_CODES = ("t2u_lang_code_to_id", "vocoder_lang_code_to_id")
"""Keys of the checkpoint's maps from languages to numbers.

A language that can be spoken is in all three maps.
"""


class Translation(NamedTuple):
    """The output of one call: the text, and the speech if it is requested.

    ``samples`` are floats of shape (n,). They are None if no speech is requested or if
    there is no text to speak. ``cut_after`` is the limit on units if it has cut the
    speech, or 0.
    """

    text: TokenStream
    samples: Any = None
    cut_after: int = 0


class SeamlessM4TAdapter(SoundAdapter):
    """Translates the text or the sound of a prompt to text, speech, or both.

    The model follows no instructions. System messages are therefore left out, and so is
    the text next to a sound. ``text.language`` and ``audio.language`` are the language
    of the answer's text and speech (default: English). If both kinds are requested, the
    speech reads the text, so one option is enough. ``text.source_language`` is the
    language of the prompt's text; the model recognises the language of a sound.
    ``audio.voice`` is the number of a speaker. ``audio.max_tokens`` is the maximum
    number of speech units. Temperature and length apply to the text.

    Requests run one by one. A row draws only from its own generator: the units of the
    speech are the most probable ones.
    """

    uses_text_parameters = True
    voice_argument: ClassVar[str] = "spkr_id"
    """The library's name for the number of the speaker."""
    counts_units: ClassVar[bool] = True
    """True if units are written one by one, up to a limit."""

    @cached_property
    def capabilities(self) -> Capabilities:
        outputs, options = ["text"], {TEXT_LANGUAGE, SOURCE_LANGUAGE}
        if self._spoken:
            outputs.append("audio")
            options.add(AUDIO_LANGUAGE)
            if self._voices > 1:
                options.add(VOICE)
            if self.counts_units:
                options.add(MAX_CODES)
        mode: OutputMode = "parallel" if self._spoken else "single"
        capabilities = Capabilities.of(["text", "audio"], outputs, mode)
        inputs = {**capabilities.inputs, "audio": Limit(max_items=1)}
        return replace(capabilities, inputs=inputs, options=frozenset(options))

    def load(self) -> None:
        import transformers

        if not self._written:
            raise UsageError(
                f"{self.files.name}: {_TEXT_CODES} is missing in {_GENERATION_FILE}, "
                "so its languages are unknown; fetch the model again"
            )
        self.rate = self.read_rate()
        self._processor = load_processor(self.files, self.settings)
        self._tokenizer = tokenizer_of(self._processor)
        inputs = overridden(self.capabilities, self.settings).inputs
        self._input_spec = InputSpec.of(
            self._processor, frozenset(inputs), literals_of(self._processor)
        )
        self.model = load_weights(self.files, self.settings, transformers.AutoModel)
        self._generation = read_generation(self.model, self._tokenizer)
        log_left_out(self.files.name, self._generation)
        # the library compares this value with tokens, so it must not be a list
        self.model.generation_config.eos_token_id = self._generation.ends[0]

    # --- languages and voices ---------------------------------------------------------

    @cached_property
    def _written(self) -> Mapping[str, int]:
        """The number of each language that the model writes."""
        codes: Mapping[str, int] = self.files.json(_GENERATION_FILE).get(
            _TEXT_CODES, {}
        )
        return codes

    @cached_property
    def _spoken(self) -> frozenset[str]:
        """The languages that the model speaks, which may be fewer."""
        spoken = frozenset(self._written)
        for name in _SPEECH_CODES:
            spoken &= frozenset(self.files.json(_GENERATION_FILE).get(name, {}))
        return spoken

    @property
    def _voices(self) -> int:
        return int(self.files.config.get("vocoder_num_spkrs") or 1)

    def _language(self, request: Request) -> str:
        """Returns the language of the answer.

        The option of the other kind of answer is used if there is no other. Raises
        RowError for an unknown language.
        """
        options = request.params.options
        speaks = "audio" in request.wants
        names = [TEXT_LANGUAGE, AUDIO_LANGUAGE]
        if speaks:
            names.reverse()
        given = [name for name in names if name in options]
        languages = {str(options[name]) for name in given}
        has_both_kinds = speaks and len(request.wants) > 1
        if has_both_kinds and len(languages) > 1:
            raise RowError(
                "bad_request",
                f"{TEXT_LANGUAGE} and {AUDIO_LANGUAGE} must be equal, because the "
                "speech reads the text; set one of them",
            )
        name = [*given, *names][0]
        language = str(options.get(name, DEFAULT_LANGUAGE))
        return self._known(name, language, speaks=speaks)

    def _known(self, name: str, language: str, *, speaks: bool = False) -> str:
        known = sorted(self._spoken if speaks else self._written)
        if language in known:
            return language
        hint = did_you_mean(language, known) or f"; known: {listed(known, MAX_SHOWN)}"
        verb = "speak" if speaks else "know"
        raise RowError(
            "bad_request",
            f"{name}={language!r}: this model does not {verb} this language{hint}",
        )

    # --- one row ----------------------------------------------------------------------

    def respond(self, request: Request) -> Response:
        params = request.params
        language = self._language(request)
        sampling, unused = self._generation.sampling.overridden_by(params)
        inputs, warnings = self._inputs(request)
        warnings.extend(unused)
        length = inputs["input_ids"].shape[1] if "input_ids" in inputs else 0
        # prompt and answer have positions of their own
        context = self._generation.context
        self.check_length(length, context)
        limit = params.max_tokens or self._generation.max_tokens
        if context:
            limit = min(limit, context)
        sampler = RowSampler([request.seed], sampling, self._generation.ends[0])
        translation = self._translated(request, inputs, language, sampler, limit)

        finish_reason = translation.text.finish_reason
        text = self._tokenizer.decode(translation.text.ids, skip_special_tokens=True)
        ends = [text.find(word) for word in params.stop if word in text]
        if ends:
            finish_reason = "stop"
        parts: list[Part] = []
        if set(request.wants) != {"audio"}:
            parts += Interleaved.from_text(text[: min(ends, default=None)]).parts
        if translation.samples is not None:
            parts.append(media_part(to_sound(translation.samples, self.rate)))
            if ends:
                warnings.append("the speech does not end at the stop string")
        elif "audio" in request.wants:
            warnings.append("the translation is empty, so it was not spoken")
        if translation.cut_after:
            finish_reason = "length"
            warnings.append(speech_cut(translation.cut_after))
        return Response(
            Interleaved(tuple(parts)),
            finish_reason=finish_reason,
            usage=Usage(length, translation.text.used),
            warnings=tuple(dict.fromkeys(warnings)),
        )

    def _inputs(self, request: Request) -> tuple[Mapping[str, Any], list[str]]:
        """Returns the tensors of a prompt, and warnings about omissions.

        Raises RowError for an invalid prompt.
        """
        chat = to_chat(request, self._input_spec)
        warnings = list(chat.warnings)
        texts: list[str] = []
        sounds: list[Any] = []
        for message in chat.messages:
            for item in message["content"]:
                if item["type"] == "audio":
                    sounds.append(item["audio"])
                elif not item["text"].strip():
                    continue
                elif message["role"] == "system":
                    warnings.append(
                        "the system message was left out: this model translates its "
                        "prompt and does not follow instructions"
                    )
                else:
                    texts.append(item["text"])
        if len(sounds) > 1:
            raise RowError(
                "unsupported",
                f"this model translates one sound, but the prompt has {len(sounds)}",
            )
        if sounds:
            if texts:
                warnings.append(
                    "the text was left out: this model translates either a sound or a "
                    "text"
                )
            rate = self._input_spec.sound_rate
            tensors = self._processor(
                audio=sounds, sampling_rate=rate, return_tensors="pt"
            )
            return tensors, warnings
        text = " ".join(" ".join(texts).split())
        if not text:
            raise RowError("bad_request", "the prompt contains no text to translate")
        source = str(request.params.options.get(SOURCE_LANGUAGE, DEFAULT_LANGUAGE))
        self._tokenizer.src_lang = self._known(SOURCE_LANGUAGE, source)
        return self._processor(text=[text], return_tensors="pt"), warnings

    def _translated(
        self,
        request: Request,
        inputs: Mapping[str, Any],
        language: str,
        sampler: RowSampler,
        limit: int,
    ) -> Translation:
        import torch

        device, dtype = self.model.device, self.model.dtype
        speaks = "audio" in request.wants
        tensors = {name: value.to(device) for name, value in inputs.items()}
        if "input_features" in tensors:
            tensors["input_features"] = tensors["input_features"].to(dtype)
        arguments: dict[str, Any] = {
            "generate_speech": speaks,
            "text_max_new_tokens": limit,
            "text_logits_processor": [sampler],
        }
        if speaks:
            arguments |= self._speech_arguments(request, language)
        else:
            # given the language's name, the first version of the model would refuse a
            # language that it writes but does not speak
            codes = [[self._written[language]]]
            arguments["text_decoder_input_ids"] = torch.tensor(codes, device=device)
        output = None
        try:
            with torch.inference_mode(), suppress(_EmptyTextError):
                output = self.model.generate(**tensors, **arguments)
        # the library cannot speak a text or units with control tokens inside
        except (LookupError, RuntimeError, ValueError) as error:
            if is_out_of_memory(error) or not speaks:
                raise
            raise RowError(
                "internal",
                f"the model could not speak the translation ({in_a_line(error)})",
            ) from None
        if sampler.broken[0]:
            raise broken_row(dtype)
        if output is None:
            return Translation(TokenStream((), used=1))

        # the first two tokens are the start and the language
        text_ids = output.sequences[0, 2:].tolist()
        text = cut(text_ids, self._generation, limit)
        if not speaks:
            return Translation(text)
        length = int(output.waveform_lengths.reshape(-1)[0])
        samples = output.waveform.reshape(-1)[:length]
        cut_after = 0
        if self.counts_units:
            most_units = arguments["speech_max_new_tokens"]
            units = output.unit_sequences[0, 2:].tolist()
            has_end = self.model.config.t2u_eos_token_id in units
            if len(units) >= most_units and not has_end:
                cut_after = most_units
        return Translation(text, samples, cut_after)

    def _speech_arguments(self, request: Request, language: str) -> dict[str, Any]:
        """Returns the arguments for speech. Raises RowError for invalid options."""
        voice = count_option(request.params, VOICE, 0, least=0)
        if voice >= self._voices:
            raise RowError(
                "bad_request",
                f"{VOICE} must be a number from 0 to {self._voices - 1}, not {voice}",
            )
        arguments: dict[str, Any] = {
            "tgt_lang": language,
            self.voice_argument: voice,
            "return_intermediate_token_ids": True,
            "text_stopping_criteria": [_stop_empty_text(self._generation.ends)],
        }
        if self.counts_units:
            usual = self.model.config.t2u_max_new_tokens
            max_units = count_option(request.params, MAX_CODES, usual)
            arguments["speech_max_new_tokens"] = max_units
        return arguments


class SeamlessM4Tv2Adapter(SeamlessM4TAdapter):
    """Runs the second version, which predicts all units of the speech at once."""

    voice_argument = "speaker_id"
    counts_units = False


class _EmptyTextError(Exception):
    """The translation has no text. The library cannot speak an empty text."""


def _stop_empty_text(ends: Sequence[int]) -> Any:
    """Returns a stopping criterion that raises _EmptyTextError.

    ``Any`` is the library's type of a criterion.
    """

    def check(ids: Any, _scores: Any, **_arguments: Any) -> Any:
        # the first two tokens are the start and the language
        if ids.shape[1] == 3 and int(ids[0, 2]) in ends:
            raise _EmptyTextError
        return ids.new_zeros((len(ids),)).bool()

    return check
