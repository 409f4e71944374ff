"""A stand-in for the Hugging Face Hub on a local port: data sets in memory, the few routes that a download asks.

    with FakeHub({"me/tiny": {COMMIT: {"test.jsonl": b"..."}}}) as hub:
        ... HF_ENDPOINT=hub.url ...; hub.paths lists what was asked

Revisions are commits; ``main`` is the last one. A data set in ``gated`` answers 403 as the hub does.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

Files = Mapping[str, bytes]


class FakeHub:
    """``data`` maps data sets to commits (40 hex digits) to files."""

    def __init__(self, data: Mapping[str, Mapping[str, Files]], *, gated: frozenset[str] = frozenset()) -> None:
        self.data, self.gated = data, gated
        self.paths: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FakeHub:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def commit(self, repo: str, revision: str) -> str | None:
        commits = self.data[repo]
        if revision == "main":
            return list(commits)[-1]
        return revision if revision in commits else None


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
            if body:
                self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            return

    return Handler


def _answer(hub: FakeHub, path: str) -> Answer:
    words = path.strip("/").split("/")
    if words[:2] == ["api", "datasets"]:
        repo, (route, revision, *_) = "/".join(words[2:4]), (*words[4:], "revision", "main")
        return _checked(hub, repo, revision) or _listing(hub, repo, route, revision)
    if words[0] == "datasets" and words[3:4] == ["resolve"]:
        repo, revision = "/".join(words[1:3]), words[4]
        return _checked(hub, repo, revision) or _file(hub, repo, revision, "/".join(words[5:]))
    return 404, {}, b""


def _checked(hub: FakeHub, repo: str, revision: str) -> Answer | None:
    if repo in hub.gated:
        return 403, {"X-Error-Code": "GatedRepo"}, b""
    if repo not in hub.data:
        return 401, {"X-Error-Code": "RepoNotFound"}, b""
    if hub.commit(repo, revision) is None:
        return 404, {"X-Error-Code": "RevisionNotFound"}, b""
    return None


def _listing(hub: FakeHub, repo: str, route: str, revision: str) -> Answer:
    commit = hub.commit(repo, revision)
    assert commit is not None
    files = hub.data[repo][commit]
    rows: Any = {"id": repo, "sha": commit, "siblings": [{"rfilename": name} for name in files]}
    if route == "tree":
        rows = [
            {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
            for name, content in files.items()
        ]
    return 200, {"Content-Type": "application/json"}, json.dumps(rows).encode()


def _file(hub: FakeHub, repo: str, revision: str, name: str) -> Answer:
    commit = hub.commit(repo, revision)
    assert commit is not None
    content = hub.data[repo][commit].get(name)
    if content is None:
        return 404, {"X-Error-Code": "EntryNotFound"}, b""
    etag = hashlib.sha1(content).hexdigest()
    return 200, {"ETag": f'"{etag}"', "X-Repo-Commit": commit, "Accept-Ranges": "bytes"}, content
