"""The endpoint ``audio/speech``: a text read aloud."""

from __future__ import annotations

import json

from mmeval.content import Interleaved, Media
from mmeval.model_backends.openai import parameters
from mmeval.model_backends.openai.failures import CallError, bad_reply
from mmeval.model_backends.openai.messages import words
from mmeval.model_backends.openai.reply import json_object
from mmeval.model_backends.openai.settings import Settings
from mmeval.model_backends.openai.transport import Outgoing, Received
from mmeval.records import Request, Response

PATH = "audio/speech"


class SpeechEndpoint:
    """Requests and replies of ``audio/speech``; no seed, the server draws repeats."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def encode(self, request: Request) -> Outgoing:
        """The encoded request: all text to read aloud; system messages say how.
        Raises CallError for any input but text."""
        fields = {
            "model": self._settings.model,
            "input": _text(request, system=False),
            "voice": parameters.voice(request.params),
            "response_format": parameters.audio_format(request.params),
        }
        instructions = _text(request, system=True)
        if instructions:
            fields["instructions"] = instructions
        return Outgoing(PATH, json.dumps(fields).encode())

    def decode(self, received: Received, request: Request) -> Response:
        """The sound of a reply. Raises CallError ``bad_reply`` without one."""
        if received.body.startswith(b"{"):
            json_object(received.body)  # raises the reported error
        sound = Media.from_bytes(received.body)
        if sound.kind != "audio":
            raise bad_reply(
                f"the server's answer is no sound but {len(received.body)} bytes of "
                f"{sound.mime}"
            )
        return Response(
            output=Interleaved.from_reply("", [sound]),
            latency=received.latency,
            warnings=parameters.unsent(request.params, PATH, sampled=False),
        )


def _text(request: Request, *, system: bool) -> str:
    texts = []
    for message in request.messages:
        if (message.role == "system") is not system:
            continue
        for part in message.content.parts:
            if part.media is not None:
                raise CallError(
                    "unsupported", f"the speech endpoint takes text, no {part.kind}"
                )
        texts.append("".join(map(words, message.content.parts)))
    return "\n\n".join(text for text in texts if text)
