"""A strict server for wires: it refuses what a test does not expect, and streams."""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Reply:
    """One reply. ``sends`` is how many bytes of the body are sent before the connection
    breaks; None: all of them."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    sends: int | None = None


@dataclass(frozen=True)
class Exchange:
    """A request that is expected, and the replies to it in turn, the last one again and
    again. ``body`` is a part of the JSON that is sent; ``absent`` are fields and
    headers that are not."""

    path: str
    replies: Sequence[Reply]
    body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    absent: Sequence[str] = ()


def reply(content: Any, **fields: Any) -> Reply:
    """A reply of JSON."""
    return Reply(json.dumps(content).encode(), **fields)


def chat(*messages: Any, **fields: Any) -> Reply:
    """A chat reply, with a choice for each message."""
    choices = [{"message": message, "finish_reason": "stop"} for message in messages]
    return reply({"model": "m", "choices": choices, **fields})


def stream(*events: Any, sends: int | None = None) -> Reply:
    """A stream of events: objects as JSON, texts as they are."""
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    body = "".join(f"data: {line}\n\n" for line in lines).encode()
    return Reply(body, content_type="text/event-stream", sends=sends)


def delta(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """A chunk of a streamed chat."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish_reason}
    return {"model": "m", "choices": [choice]}


class WireServer:
    """Answers the expected requests; any other is refused with 400, which says why.
    ``faults`` holds these reasons, ``count`` the requests, ``asked`` their methods and
    paths."""

    def __init__(self, *exchanges: Exchange) -> None:
        self.faults: list[str] = []
        self.asked: list[str] = []
        self._exchanges = exchanges
        self._turns = [0] * len(exchanges)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.host}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def count(self) -> int:
        return len(self.asked)

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        address = urlsplit(path)
        for number, exchange in enumerate(self._exchanges):
            if address.path == exchange.path:
                faults = _faults(exchange, address.query, headers, body)
                self.faults += faults
                if faults:
                    return reply({"error": {"message": "; ".join(faults)}}, status=400)
                turn = min(self._turns[number], len(exchange.replies) - 1)
                self._turns[number] += 1
                return exchange.replies[turn]
        self.faults.append(f"nothing is expected at {path}")
        return reply({"error": {"message": self.faults[-1]}}, status=404)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                owner.asked.append(f"{self.command} {urlsplit(self.path).path}")
                answer = owner.answer(self.path, dict(self.headers), body)
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.content_type)
                self.send_header("Content-Length", str(len(answer.body)))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body[: answer.sends])
                self.close_connection = answer.sends is not None

            def log_message(self, format: str, *args: Any) -> None: ...

        return Handler


def _faults(
    exchange: Exchange, query: str, headers: Mapping[str, str], body: bytes
) -> list[str]:
    """In which ways a request is not the expected one."""
    sent = json.loads(body) if body.startswith(b"{") else {}
    asked = dict(parse_qsl(query))
    faults = []
    for name, expected, given in (
        ("body", exchange.body, sent),
        ("headers", exchange.headers, headers),
        ("query", exchange.query, asked),
    ):
        for field_name, value in expected.items():
            if given.get(field_name) != value:
                faults.append(
                    f"{name}: {field_name} is {given.get(field_name)!r}, not {value!r}"
                )
    for name in exchange.absent:
        if name in sent or name in headers:
            faults.append(f"{name} is sent")
    return faults
