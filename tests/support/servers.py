"""Servers whose replies a test states: byte for byte, as a strict wire, as the Hugging
Face Hub."""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest


class LocalHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.respond()

    def do_POST(self) -> None:
        self.respond()

    def respond(self) -> None:
        raise NotImplementedError

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def log_message(self, format: str, *args: Any) -> None: ...


class LocalServer:
    """A server on a free port of this machine, in threads, until its block ends;
    ``ending`` is set then."""

    def __init__(self, handler: type[LocalHandler]) -> None:
        self.ending = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.host}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


# A server whose answers a test states byte for byte; it keeps what it was sent.


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


class ScriptedServer(LocalServer):
    """Gives the answers in order, the last one again and again; ``seen`` holds the
    requests."""

    def __init__(self, *answers: Scripted) -> None:
        self.answers, self.seen = list(answers), list[Captured]()
        super().__init__(self._handler())
        self.url += "/v1"

    def _handler(self) -> type[LocalHandler]:
        owner = self

        class Handler(LocalHandler):
            def respond(self) -> None:
                body = self.body()
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
                owner.ending.wait(answer.linger)

        return Handler


# A strict server for wires: it refuses what a test does not expect, and streams.


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


def events_text(*events: Any) -> bytes:
    """The body of a stream of events: objects as JSON, texts as they are."""
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def stream(*events: Any, sends: int | None = None) -> Reply:
    """A stream of events: objects as JSON, texts as they are."""
    return Reply(events_text(*events), content_type="text/event-stream", sends=sends)


def delta(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """A chunk of a streamed chat."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish_reason}
    return {"model": "m", "choices": [choice]}


class WireServer(LocalServer):
    """Answers the expected requests; any other is refused with 400, which says why.
    ``faults`` holds these reasons, ``count`` the requests, ``asked`` their methods and
    paths."""

    def __init__(self, *exchanges: Exchange) -> None:
        self.faults: list[str] = []
        self.asked: list[str] = []
        self._exchanges = exchanges
        self._turns = [0] * len(exchanges)
        super().__init__(self._handler())
        self.url += "/v1"

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

    def _handler(self) -> type[LocalHandler]:
        owner = self

        class Handler(LocalHandler):
            def respond(self) -> None:
                body = self.body()
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


# A stand-in for the Hugging Face Hub on a local port: data sets and models in memory,
# the few routes of a download. Revisions are commits; ``main`` is the last one. A
# repository in ``gated`` answers 403 as the hub does. ``sizes`` stand in the place of
# the files' own; what is in ``stalled`` is begun and never ends.

Files = Mapping[str, bytes]
Repositories = Mapping[str, Mapping[str, Files]]
Answer = tuple[int, dict[str, str], bytes]


class FakeHub(LocalServer):
    """``data`` maps data sets to commits (40 hex digits) to files, ``models`` maps
    models likewise."""

    def __init__(
        self,
        data: Repositories | None = None,
        *,
        models: Repositories | None = None,
        gated: frozenset[str] = frozenset(),
        sizes: Mapping[str, int] | None = None,
        stalled: frozenset[str] = frozenset(),
    ) -> None:
        self.shelves: dict[str, Repositories] = {
            "datasets": data or {},
            "models": models or {},
        }
        self.gated, self.sizes, self.stalled = gated, sizes or {}, stalled
        self.paths: list[str] = []
        super().__init__(_handler(self))

    @property
    def fetched(self) -> list[str]:
        """The names of the files whose content was asked for, once each, in their
        order."""
        names = (
            path.partition("/resolve/")[2].partition("/")[2] for path in self.paths
        )
        return list(dict.fromkeys(name for name in names if name))

    def answer(self, path: str) -> Answer:
        words = path.strip("/").split("/")
        if words[0] == "api" and words[1] in self.shelves:
            shelf = words[1]
            repo = "/".join(words[2:4])
            (route, revision, *_) = (*words[4:], "revision", "main")
        elif "resolve" in words[2:4]:
            shelf, words = (
                ("datasets", words[1:]) if words[0] == "datasets" else ("models", words)
            )
            repo, route, revision = "/".join(words[:2]), "resolve", words[3]
        else:
            return 404, {}, b""
        if repo in self.gated:
            return 403, {"X-Error-Code": "GatedRepo"}, b""
        if repo not in self.shelves[shelf]:
            return 401, {"X-Error-Code": "RepoNotFound"}, b""
        commits = self.shelves[shelf][repo]
        commit = list(commits)[-1] if revision == "main" else revision
        if commit not in commits:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        if route == "resolve":
            return _file(commits[commit].get("/".join(words[4:])), commit)
        rows: Any = {
            "id": repo,
            "sha": commit,
            "siblings": [{"rfilename": name} for name in commits[commit]],
        }
        if route == "tree":
            sized = (
                (name, self.sizes.get(name, len(content)), content)
                for name, content in commits[commit].items()
            )
            rows = [
                {"type": "file", "path": name, "size": size, "oid": _digest(of)}
                for name, size, of in sized
            ]
        return 200, {"Content-Type": "application/json"}, json.dumps(rows).encode()


def _file(content: bytes | None, commit: str) -> Answer:
    if content is None:
        return 404, {"X-Error-Code": "EntryNotFound"}, b""
    return (
        200,
        {
            "ETag": f'"{_digest(content)}"',
            "X-Repo-Commit": commit,
            "Accept-Ranges": "bytes",
        },
        content,
    )


def _digest(content: bytes) -> str:
    """As git names a file's content, and so the hub."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _handler(hub: FakeHub) -> type[LocalHandler]:
    class Handler(LocalHandler):
        def respond(self) -> None:
            path, content = self._head()
            if path.rpartition("/")[2] in hub.stalled:
                self.wfile.write(content[:1])
                self.wfile.flush()
                hub.ending.wait()
            else:
                self.wfile.write(content)

        def do_HEAD(self) -> None:
            self._head()

        def _head(self) -> tuple[str, bytes]:
            path = unquote(urlsplit(self.path).path)
            hub.paths.append(path)
            status, headers, content = hub.answer(path)
            if wanted := self.headers["Range"]:
                first, last = map(int, wanted.removeprefix("bytes=").split("-"))
                status = 206
                headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
                content = content[first : last + 1]
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            return path, content

    return Handler


@contextmanager
def at_hub(url: str, home: Path, *, offline: bool = False) -> Iterator[None]:
    """The hub's library asks this address, or nothing, and keeps its files in this
    folder, in this process."""
    template = f"{url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    known: dict[str, Any] = {
        "ENDPOINT": url,
        "HUGGINGFACE_CO_URL_TEMPLATE": template,
        "HF_HUB_OFFLINE": offline,
    }
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {**known, "HF_HUB_CACHE": str(home / "hub")}.items():
            patched.setattr(f"huggingface_hub.constants.{name}", value)
        yield
