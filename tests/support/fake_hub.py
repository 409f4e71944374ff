"""A stand-in for the Hugging Face Hub on a local port: data sets and models in memory, the few routes that a download
asks.

    with FakeHub({"me/tiny": {COMMIT: {"test.jsonl": b"..."}}}) as hub:
        ... HF_ENDPOINT=hub.url ...; hub.paths lists what was asked

Revisions are commits; ``main`` is the last one. A repository in ``gated`` answers 403 as the hub does. ``sizes`` are
told in the place of the files' own; what is in ``stalled`` is begun and never ends.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

Files = Mapping[str, bytes]


Repositories = Mapping[str, Mapping[str, Files]]


class FakeHub:
    """``data`` maps data sets to commits (40 hex digits) to files, ``models`` maps models likewise."""

    def __init__(
        self,
        data: Repositories | None = None,
        *,
        models: Repositories | None = None,
        gated: frozenset[str] = frozenset(),
        sizes: Mapping[str, int] | None = None,
        stalled: frozenset[str] = frozenset(),
    ) -> None:
        self.shelves: dict[str, Repositories] = {"datasets": data or {}, "models": models or {}}
        self.gated = gated
        self.sizes = sizes or {}
        self.stalled = stalled
        self.paths: list[str] = []
        self.ending = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FakeHub:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.ending.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def files(self, shelf: str, repo: str, revision: str) -> tuple[str, Files] | None:
        """The commit that a revision means, and its files."""
        commits = self.shelves[shelf][repo]
        commit = list(commits)[-1] if revision == "main" else revision
        return (commit, commits[commit]) if commit in commits else None

    @property
    def fetched(self) -> list[str]:
        """The names of the files whose content was asked for, once each, in their order."""
        names = (path.partition("/resolve/")[2].partition("/")[2] for path in self.paths)
        return list(dict.fromkeys(name for name in names if name))


Answer = tuple[int, dict[str, str], bytes]


def _handler(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(body=True)

        def do_HEAD(self) -> None:
            self._send(body=False)

        def _send(self, *, body: bool) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.paths.append(path)
            status, headers, content = _answer(hub, path)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if body and path.rpartition("/")[2] in hub.stalled:
                self.wfile.write(content[:1])
                self.wfile.flush()
                hub.ending.wait()
            elif body:
                self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            return

    return Handler


def _answer(hub: FakeHub, path: str) -> Answer:
    words = path.strip("/").split("/")
    if words[0] == "api" and words[1] in hub.shelves:
        repo, (route, revision, *_) = "/".join(words[2:4]), (*words[4:], "revision", "main")
        return _refused(hub, words[1], repo, revision) or _listing(hub, words[1], repo, route, revision)
    shelf, words = ("datasets", words[1:]) if words[0] == "datasets" else ("models", words)
    if words[2:3] == ["resolve"]:
        repo, revision = "/".join(words[:2]), words[3]
        return _refused(hub, shelf, repo, revision) or _file(hub, shelf, repo, revision, "/".join(words[4:]))
    return 404, {}, b""


def _refused(hub: FakeHub, shelf: str, repo: str, revision: str) -> Answer | None:
    if repo in hub.gated:
        return 403, {"X-Error-Code": "GatedRepo"}, b""
    if repo not in hub.shelves[shelf]:
        return 401, {"X-Error-Code": "RepoNotFound"}, b""
    if hub.files(shelf, repo, revision) is None:
        return 404, {"X-Error-Code": "RevisionNotFound"}, b""
    return None


def _listing(hub: FakeHub, shelf: str, repo: str, route: str, revision: str) -> Answer:
    found = hub.files(shelf, repo, revision)
    assert found is not None
    commit, files = found
    rows: Any = {"id": repo, "sha": commit, "siblings": [{"rfilename": name} for name in files]}
    if route == "tree":
        rows = [
            {"type": "file", "path": name, "size": hub.sizes.get(name, len(content)), "oid": _digest(content)}
            for name, content in files.items()
        ]
    return 200, {"Content-Type": "application/json"}, json.dumps(rows).encode()


def _digest(content: bytes) -> str:
    """As git names a file's content, and so the hub."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _file(hub: FakeHub, shelf: str, repo: str, revision: str, name: str) -> Answer:
    found = hub.files(shelf, repo, revision)
    assert found is not None
    commit, files = found
    content = files.get(name)
    if content is None:
        return 404, {"X-Error-Code": "EntryNotFound"}, b""
    etag = _digest(content)
    return 200, {"ETag": f'"{etag}"', "X-Repo-Commit": commit, "Accept-Ranges": "bytes"}, content


@contextmanager
def at_hub(url: str, home: Path, *, offline: bool = False) -> Iterator[None]:
    """The hub's library asks this address, or nothing, and keeps its files in this folder, in this process."""
    known: dict[str, Any] = {
        "ENDPOINT": url,
        "HUGGINGFACE_CO_URL_TEMPLATE": f"{url}/{{repo_id}}/resolve/{{revision}}/{{filename}}",
        "HF_HUB_CACHE": str(home / "hub"),
        "HF_HUB_OFFLINE": offline,
    }
    with pytest.MonkeyPatch.context() as patched:
        for name, value in known.items():
            patched.setattr(f"huggingface_hub.constants.{name}", value)
        yield
