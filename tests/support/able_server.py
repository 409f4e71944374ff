"""A server whose model really reads pictures, sounds, pages and films, and whose
abilities a test takes away."""

import base64
import hashlib
import io
import itertools
import json
import re
import threading
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmeval.backend.handshake.media import COLOURS
from mmeval.media import decode
from mmeval.media.media import Media
from tests.support.servers import LocalHandler, LocalServer

CHARS_PER_TOKEN = 4
MEDIUM_TOKENS = 85
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@dataclass(frozen=True)
class Abilities:
    """What the model and its server can do. The defaults are those of an honest one."""

    sees: bool = True
    hears: bool = True
    reads_pages: bool = True
    watches: bool = True
    drops_media: bool = False
    """Media are left out of the prompt without an error."""
    refuses_pictures: str = ""
    """The error of a request with pictures; empty for none."""
    most_pictures: int = 100
    swaps_pictures: bool = False
    counts_tokens: bool = True
    holds_seed: bool = True
    takes_system: bool = True
    takes_stop: bool = True
    schema_fields: tuple[str, ...] = ("json_schema",)
    """The fields through which a schema is enforced."""
    refused_fields: tuple[str, ...] = ()
    most_properties: int = 100
    """A schema with more properties is refused."""
    """The fields that are answered with an error."""
    json_mode: bool = True
    draws: bool = False
    draws_with_text: bool = True
    status: int = 200
    prose: str = ""
    """The reply to every question that the model has no other answer to."""


class AbleServer(LocalServer):
    """Answers chats as its abilities allow; ``bodies`` holds what it was sent."""

    def __init__(self, abilities: Abilities = Abilities()) -> None:
        self.abilities = abilities
        self.bodies: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        super().__init__(self._handler())
        self.url += "/v1"

    @property
    def questions(self) -> list[dict[str, Any]]:
        """The requests that belong to no handshake."""
        return [body for body in self.bodies if not _is_handshake(body)]

    @property
    def handshakes(self) -> int:
        return len(self.bodies) - len(self.questions)

    def _handler(self) -> type[LocalHandler]:
        owner = self

        class Handler(LocalHandler):
            def respond(self) -> None:
                body = json.loads(self.body())
                with owner._lock:
                    owner.bodies.append(body)
                status, answer = owner.answer(body)
                payload = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

        return Handler

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        able = self.abilities
        if able.status != 200:
            return able.status, _error("the server is out of order")
        asked = _Asked(body)
        refusal = self._refusal(asked)
        if refusal:
            return 400, _error(refusal)
        message: dict[str, Any] = {"role": "assistant", "content": self._text(asked)}
        wants_picture = "image" in body.get("modalities", ())
        is_alone = "Write the word first" not in asked.text
        if wants_picture and able.draws and (able.draws_with_text or is_alone):
            message["content"] = _drawn(with_text=not is_alone)
        usage = {}
        if able.counts_tokens:
            count = len(asked.text) // CHARS_PER_TOKEN + 10
            if not able.drops_media:
                count += MEDIUM_TOKENS * len(asked.parts)
            usage = {"prompt_tokens": count, "completion_tokens": 9}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return 200, {"model": "able-1", "choices": [choice], "usage": usage}

    def _refusal(self, asked: "_Asked") -> str:
        """The error of a request that the server does not take; empty for none."""
        able, body = self.abilities, asked.body
        pictures = len(asked.media("image_url"))
        if pictures and able.refuses_pictures:
            return able.refuses_pictures
        if pictures > able.most_pictures:
            return f"at most {able.most_pictures} image(s) per prompt"
        form = _form(body)
        if form in able.refused_fields:
            return f"unknown field {form}"
        if form == "json_schema" and not _is_strict(body):
            return "schema must have a 'type' key"
        if len(_properties(body)) > able.most_properties:
            return "the schema is too complex"
        return ""

    def _text(self, asked: "_Asked") -> str:
        able = self.abilities
        given = self._enforced(asked.body)
        if given is not None:
            return given
        if "random lowercase letters" in asked.text:
            seed = asked.body.get("seed") if able.holds_seed else len(self.bodies)
            return hashlib.sha256(str(seed).encode()).hexdigest()[:12]
        if "Write the password" in asked.text:
            return self._password(asked)
        seen = "" if able.drops_media else self._seen(asked)
        if seen:
            return seen
        if "Answer with the word ready" in asked.text:
            return "ready"
        return able.prose or "I see a cat on a table."

    def _seen(self, asked: "_Asked") -> str:
        able, words = self.abilities, list[str]()
        pictures = asked.media("image_url") if able.sees else []
        for medium in pictures[::-1] if able.swaps_pictures else pictures:
            words += stripe_colours(medium)
        for medium in asked.media("input_audio") if able.hears else []:
            words += [str(count) for count in beep_counts(medium)]
        for medium in asked.media("file") if able.reads_pages else []:
            word = re.search(rb"\((\w+)\) Tj", medium.read())
            words += [word[1].decode()] if word else []
        for medium in asked.media("video_url") if able.watches else []:
            words += film_colours(medium)
        return ", ".join(words)

    def _password(self, asked: "_Asked") -> str:
        secret = re.search(r"The password is (\w+)", asked.system)
        first = secret[1] if secret and self.abilities.takes_system else "swordfish"
        last = re.search(r"cherry, (\w+)", asked.text)
        assert last is not None
        text = f"{first} apple cherry {last[1]}"
        for stop in asked.body.get("stop", ()) if self.abilities.takes_stop else ():
            text = text.split(stop, maxsplit=1)[0]
        return text

    def _enforced(self, body: dict[str, Any]) -> str | None:
        """The reply that a schema or JSON mode enforces; None if nothing does."""
        form = _form(body)
        if form == "json_object" and self.abilities.json_mode:
            return '{"weather": "mild"}'
        if not form or form not in self.abilities.schema_fields:
            return None
        schema = body.get(form, {})
        if form == "json_schema":
            schema = body["response_format"]["json_schema"]["schema"]
        return json.dumps(
            {name: _value(value) for name, value in schema["properties"].items()}
        )


@dataclass(frozen=True)
class _Asked:
    body: dict[str, Any]

    @property
    def system(self) -> str:
        return "".join(
            str(message["content"])
            for message in self.body["messages"]
            if message["role"] == "system"
        )

    @property
    def text(self) -> str:
        texts = []
        for message in self.body["messages"]:
            content = message["content"]
            if isinstance(content, str):
                texts.append(content)
                continue
            texts += [part["text"] for part in content if part["type"] == "text"]
        return "".join(texts)

    @property
    def parts(self) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        for message in self.body["messages"]:
            if isinstance(message["content"], list):
                parts += [part for part in message["content"] if part["type"] != "text"]
        return parts

    def media(self, kind: str) -> list[Media]:
        found = []
        for part in self.parts:
            if part["type"] == kind:
                field = part[kind]
                data = field.get("url") or field.get("data") or field.get("file_data")
                encoded = str(data).rpartition(",")[2]
                found.append(Media.from_bytes(base64.b64decode(encoded)))
        return found


def _is_handshake(body: dict[str, Any]) -> bool:
    text = _Asked(body).text
    return any(
        words in text
        for words in (
            "The only colours are",
            "groups of short beeps",
            "the word that is on the page",
            "no attachment",
            "random lowercase letters",
            "Write the password",
            "Describe the weather of today",
            "red circle",
            "good morning",
        )
    )


def _form(body: dict[str, Any]) -> str:
    for form in ("guided_json", "format"):
        if form in body:
            return form
    return str(body.get("response_format", {}).get("type", ""))


def _is_strict(body: dict[str, Any]) -> bool:
    """True for a schema that OpenAI accepts: each value states its type."""
    schema = body["response_format"]["json_schema"]["schema"]
    for value in schema["properties"].values():
        for choice in value.get("anyOf", [value]):
            if "type" not in choice:
                return False
    return True


def _properties(body: dict[str, Any]) -> dict[str, Any]:
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    properties: dict[str, Any] = schema.get("properties", {})
    return properties


def _value(schema: dict[str, Any]) -> Any:
    if "anyOf" in schema:
        return _value(schema["anyOf"][0])
    if "enum" in schema:
        return schema["enum"][-1]
    return {"string": "because", "integer": 1, "number": 1.0}[schema["type"]]


def _drawn(*, with_text: bool) -> list[dict[str, Any]]:
    url = f"data:image/png;base64,{PICTURE}"
    picture = {"type": "image_url", "image_url": {"url": url}}
    if not with_text:
        return [picture]
    first, last = ({"type": "text", "text": text} for text in ("first", "last"))
    return [first, picture, last]


def _name(pixel: Sequence[int]) -> str:
    distances = {
        name: sum(abs(int(a) - b) for a, b in zip(pixel, colour, strict=False))
        for name, colour in COLOURS.items()
    }
    return min(distances, key=lambda name: distances[name])


def stripe_colours(medium: Media) -> list[str]:
    names: list[str] = []
    for pixel in np.asarray(decode.image(medium).convert("RGB"))[2]:
        name = _name(pixel)
        if not names or names[-1] != name:
            names.append(name)
    return names


def film_colours(medium: Media) -> list[str]:
    names: list[str] = []
    for frame in decode.frames_at(medium, range(4, 32, 8)):
        name = _name(frame.rgb[8, 8])
        if not names or names[-1] != name:
            names.append(name)
    return names


def beep_counts(medium: Media) -> list[int]:
    with wave.open(io.BytesIO(medium.read())) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        rate = file.getframerate()
    loud = np.abs(samples.astype(int)).reshape(-1, 160).max(axis=1) > 1000
    starts = np.flatnonzero(loud[1:] & ~loud[:-1]) * 160 / rate
    counts = [1]
    for before, after in itertools.pairwise(starts):
        if after - before > 0.6:
            counts.append(0)
        counts[-1] += 1
    return counts


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error"}}
