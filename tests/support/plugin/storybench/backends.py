"""A model that paints and a judge that reads: both deterministic, so that a test can say what must come out."""

import hashlib
import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmeval.backend import Capabilities
from mmeval.content import Interleaved, Media
from mmeval.records import Request, Response


def png(colour: bytes) -> bytes:
    """A picture of one pixel."""
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\0" + colour[:3])),
        (b"IEND", b""),
    )
    out = b"\x89PNG\r\n\x1a\n"
    for kind, data in chunks:
        out += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return out


class Painter:
    """Answers with words and a picture that depend on the request and its seed.

    ``log`` names a file that gets a JSON line a request: its digest and seed, the words and the number of pictures in
    its prompt, and the words of the answer.
    """

    capabilities = Capabilities.of(("text", "image"), ("text", "image"))
    provenance: Mapping[str, Any] = {}

    def __init__(self, log: str = "") -> None:
        self.identity = {"backend": "painter", "model": "painter-1"}
        self._log = Path(log) if log else None

    async def generate(self, request: Request) -> Response:
        drawn = hashlib.sha256(f"{request.digest}{request.seed}".encode()).digest()
        words = " ".join(f"w{byte % 7}" for byte in drawn[: 1 + drawn[0] % 9])
        self._note(request, words)
        return Response(output=Interleaved.from_reply(f"{words} <<image1>>", [Media.from_bytes(png(drawn))]))

    async def close(self) -> None:
        pass

    def _note(self, request: Request, words: str) -> None:
        if self._log is None:
            return
        contents = [message.content for message in request.messages]
        note = {
            "digest": request.digest,
            "seed": request.seed,
            "pictures": sum(len(content.media("image")) for content in contents),
            "prompt": " ".join(content.words for content in contents),
            "answer": words,
        }
        with self._log.open("a") as file:
            file.write(json.dumps(note) + "\n")


class StrictReader:
    """A judge: yes where the question speaks of a picture and there is one, unsure where it asks about moods."""

    capabilities = Capabilities.of(("text", "image"), ("text",), "single")
    identity: Mapping[str, Any] = {"backend": "strict_reader"}
    provenance: Mapping[str, Any] = {}

    async def generate(self, request: Request) -> Response:
        content = request.messages[-1].content
        question = content.parts[-1].raw
        if "mood" in question:
            answer = "cannot say"
        elif "picture" in question:
            answer = "yes" if content.media("image") else "no"
        else:
            answer = "no"
        return Response(output=Interleaved.from_text(answer))

    async def close(self) -> None:
        pass
