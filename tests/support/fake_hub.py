"""A stand-in for the Hugging Face Hub on a local port: data sets and models in memory,
the few routes of a download.

Revisions are commits; ``main`` is the last one. A repository in ``gated`` answers 403
as the hub does. ``sizes`` stand in the place of the files' own; what is in ``stalled``
is begun and never ends.
"""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import pytest

Files = Mapping[str, bytes]
Repositories = Mapping[str, Mapping[str, Files]]
Answer = tuple[int, dict[str, str], bytes]


class FakeHub:
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
        self.ending = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.02},
            daemon=True,
        )
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.ending.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

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


def _handler(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
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

        def log_message(self, format: str, *args: Any) -> None:
            return

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
