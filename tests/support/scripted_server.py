"""A server that answers what a test tells it to, byte for byte, and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Scripted:
    """One answer. ``cut`` ends the connection after so many bytes of the body, ``linger`` seconds later; 0 or less
    sends nothing at all."""

    body: bytes | Mapping[str, Any] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None
    linger: float = 0.0
    endless: bool = False
    """Declare no length: the reply ends where the connection ends."""

    @property
    def payload(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Captured:
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        row: dict[str, Any] = json.loads(self.body)
        return row


def saying(**message: Any) -> Scripted:
    """A chat reply with this assistant message."""
    return Scripted({"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]})


class ScriptedServer:
    """Gives the answers in order, the last one again and again; ``seen`` holds the requests."""

    def __init__(self, *answers: Scripted) -> None:
        self.answers = list(answers)
        self.seen: list[Captured] = []
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def next_answer(self) -> Scripted:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def __enter__(self) -> ScriptedServer:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler(owner: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            owner.seen.append(Captured(self.path, dict(self.headers), body))
            answer = owner.next_answer()
            owner.closing.wait(answer.delay)
            self.close_connection = True
            if answer.cut is None or answer.cut > 0:
                self._send(answer)

        def _send(self, answer: Scripted) -> None:
            self.send_response(answer.status)
            length = {} if answer.endless else {"Content-Length": str(len(answer.payload))}
            for name, value in {"Connection": "close", **length, **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.payload[: answer.cut])
            owner.closing.wait(answer.linger)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
