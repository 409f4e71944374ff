"""Bubblewrap for tests that run programs, and the processes inside it."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mmeval.media import Interleaved, Media, Part
from mmeval.model_backends.sandbox import SandboxBackend
from mmeval.records import Request, Response, message


def bubblewrap() -> str:
    """Where it is. Without it a test is skipped, and fails where ``CI`` is set."""
    found = shutil.which("bwrap")
    if found is not None:
        return found
    message = "no bubblewrap on PATH: apt-get install bubblewrap"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


def run_code(code: str, *media: Media, **arguments: Any) -> Response:
    """The answer of a sandbox to a program, a code part, and media beside it."""
    bubblewrap()
    backend = SandboxBackend(**arguments)
    return asyncio.run(backend.generate(asking(code, *media)))


def asking(code: str, *media: Media) -> Request:
    return Request((message("user", Part("code", text=code, raw=code), *media),))


def output_of(response: Response) -> Interleaved:
    assert response.output is not None, response.error
    return response.output


def open_to_all(folder: Path) -> None:
    """Let every user read a folder, as root takes another id before it runs a
    program."""
    for path in (*folder.parents, folder, *folder.rglob("*")):
        with suppress(PermissionError):
            path.chmod(path.stat().st_mode | 0o444 | (0o111 if path.is_dir() else 0))


def in_other_namespaces(ancestor: int | None = None) -> list[int]:
    """The descendants of a process, this one by default, that see other processes than
    it does. Orphans come back to a process while it is a subreaper."""
    own = Path("/proc/self/ns/pid").readlink()
    found = []
    for pid in _descendants(ancestor or os.getpid()):
        with suppress(OSError):
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and Path(f"/proc/{pid}/ns/pid").readlink() != own:
                found.append(pid)
    return found


def _descendants(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, children.read_text().split()):
                yield child
                yield from _descendants(child)
