"""The adapter for CSM, which speaks a text in the voice of recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from mmeval.backend import Capabilities
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
from mmeval.model_backends.hf.conversation.encoding import placed
from mmeval.model_backends.hf.conversation.literals import literals_of
from mmeval.model_backends.hf.conversation.messages import Chat, InputSpec
from mmeval.model_backends.hf.failures import RowError
from mmeval.model_backends.hf.options import count_option
from mmeval.records import Request, Response, Usage


class CsmAdapter(SoundAdapter):
    """Reads the prompt aloud, in the voice of its recordings if there are any.

    Text in an earlier message with one recording is the transcript of the recording.
    All other text is spoken. Other recordings have no transcript.

    ``audio.voice`` is the number of the speaker (default: 0). ``audio.max_tokens`` is
    the maximum number of speech codes. Its default is the checkpoint's maximum, or the
    remaining context.
    """

    @cached_property
    def capabilities(self) -> Capabilities:
        capabilities = Capabilities.of(["text", "audio"], ["audio"], "single")
        return replace(capabilities, options=frozenset({VOICE, MAX_CODES}))

    def load(self) -> None:
        import transformers

        self.rate = self.read_rate()
        self._processor = load_processor(self.files, self.settings)
        self._input_spec = InputSpec.of(
            self._processor,
            frozenset(self.capabilities.inputs),
            literals_of(self._processor),
        )
        self.model = load_weights(
            self.files, self.settings, transformers.CsmForConditionalGeneration
        )

    def respond(self, request: Request) -> Response:
        speaker = count_option(request.params, VOICE, 0, least=0)
        chat = read_prompt(request, self._input_spec)
        encoded = self._processor.apply_chat_template(
            turns_of(chat, str(speaker)), tokenize=True, return_dict=True
        )
        prompt_tokens = encoded["input_ids"].shape[1]
        context = self.model.config.max_position_embeddings
        self.check_length(prompt_tokens, context - 1)
        limit = min(self._most_codes(request), context - prompt_tokens)
        with self.drawing(request.seed):
            codes = self.model.generate(
                **placed(encoded, self.model), max_new_tokens=limit
            )[0]
            frames = self.frames_before_end(codes)
            if not frames:
                raise RowError("internal", "the model ended the speech at once")
            speech_codes = codes[:frames].transpose(0, 1).unsqueeze(0)
            waveform = self.model.codec_model.decode(speech_codes).audio_values
        usage = Usage(prompt_tokens, len(codes))
        if frames < limit:
            return self.response(waveform, usage, chat.warnings)
        warnings = (*chat.warnings, speech_cut(limit))
        return self.response(waveform, usage, warnings, "length")

    def _most_codes(self, request: Request) -> int:
        config = self.model.config
        usual = self.model.generation_config.max_new_tokens
        return count_option(
            request.params, MAX_CODES, usual or config.max_position_embeddings
        )

    def frames_before_end(self, codes: Any) -> int:
        """Returns the number of frames before the end of the speech.

        ``codes`` has the shape (frames, codebooks). The library does not compare the
        last codebook with the code for the end.
        """
        is_end = (codes[:, :-1] == self.model.config.codebook_eos_token_id).all(dim=1)
        ends = is_end.nonzero()
        return int(ends[0]) if len(ends) else len(codes)


def turns_of(chat: Chat, speaker: str) -> list[Mapping[str, Any]]:
    """Returns the turns of a speaker: the recordings, and last the text to speak.

    Each recording has a transcript, which may be empty. Raises RowError if there is no
    text to speak.
    """
    turns = []
    texts = []
    for message in chat.messages:
        sounds = [item for item in message["content"] if item["type"] == "audio"]
        text = text_of([message])
        is_last = message is chat.messages[-1]
        is_transcript = len(sounds) == 1 and not is_last
        if not is_transcript:
            texts.append(text)
        for sound in sounds:
            turns.append(_turn(speaker, text if is_transcript else "", sound))
    spoken = required_text(" ".join(texts))
    return [*turns, _turn(speaker, spoken.strip())]


def _turn(
    speaker: str,
    text: str,
    *sounds: Mapping[str, Any],
) -> Mapping[str, Any]:
    content: Sequence[Mapping[str, Any]] = ({"type": "text", "text": text}, *sounds)
    return {"role": speaker, "content": list(content)}
