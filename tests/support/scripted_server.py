"""A server whose answers a test states byte for byte; it keeps what it was sent."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Scripted:
    """One answer. ``cut`` ends the connection after so many bytes of the body,
    ``linger`` seconds later; 0 or less sends nothing at all. An ``endless`` one has no
    length: it ends where the connection ends."""

    body: bytes | Mapping[str, Any] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    linger: float = 0.0
    endless: bool = False

    @property
    def payload(self) -> bytes:
        return (
            self.body
            if isinstance(self.body, bytes)
            else json.dumps(self.body).encode()
        )


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
    return Scripted(
        {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}
    )


class ScriptedServer:
    """Gives the answers in order, the last one again and again; ``seen`` holds the
    requests."""

    def __init__(self, *answers: Scripted) -> None:
        self.answers, self.seen = list(answers), list[Captured]()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                owner.seen.append(Captured(self.path, dict(self.headers), body))
                answer = (
                    owner.answers.pop(0) if len(owner.answers) > 1 else owner.answers[0]
                )
                self.close_connection = True
                if answer.cut is None or answer.cut > 0:
                    self._send(answer)

            def _send(self, answer: Scripted) -> None:
                self.send_response(answer.status)
                length = (
                    {}
                    if answer.endless
                    else {"Content-Length": str(len(answer.payload))}
                )
                for name, value in {
                    "Connection": "close",
                    **length,
                    **answer.headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.payload[: answer.cut])
                owner._closing.wait(answer.linger)

            def log_message(self, format: str, *args: Any) -> None: ...

        return Handler
