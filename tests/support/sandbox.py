"""Bubblewrap for tests that run programs."""

import asyncio
import os
import shutil
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
