"""Checks that a node of a cluster has the same code and run folder as the run."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mmeval import plugins
from mmeval._version import __version__
from mmeval.errors import MmevalError, UsageError

_PACKAGES = ("mmeval", "mmeval.metrics", "mmeval.model_backends", "mmeval.tasks")
DIGEST_CHARS = 12


class RunContext(NamedTuple):
    """The facts about a run that must be the same on every node.

    ``cwd`` is the folder for relative paths. ``token`` is a file that contains
    ``secret``. ``code`` is the digest of mmeval and of the named ``backends``.
    """

    cwd: str
    token: Path
    secret: str
    backends: tuple[str, ...]
    code: str


class OtherCodeError(MmevalError):
    """A node has another version of mmeval or of a backend."""


def code_digest(backends: tuple[str, ...] = ()) -> str:
    """Returns mmeval's version with a digest of its files and the backends' files."""
    hasher = hashlib.sha256()
    for name, file in sorted(set(_code_files(backends))):
        hasher.update(f"{name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return f"{__version__}+{hasher.hexdigest()[:DIGEST_CHARS]}"


def _code_files(backends: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            continue
        # not the search path: in a checkout it also contains tests and environments
        folder = Path(spec.origin).parent
        for file in folder.rglob("*.py"):
            yield f"{package}/{file.relative_to(folder)}", file
    for name in backends:
        module = sys.modules.get(
            getattr(plugins.load("mmeval.model_backends", name), "__module__", "")
        )
        if module is not None and module.__file__ is not None:
            yield module.__name__, Path(module.__file__)


def enter(shared: RunContext) -> None:
    """Changes to the working directory of the run.

    Raises UsageError if this node cannot access the folders of the run, and
    OtherCodeError if its code differs.
    """
    try:
        os.chdir(shared.cwd)
        if shared.token.read_text() != shared.secret:
            raise FileNotFoundError(2, "another file has this name")
        reply = shared.token.with_suffix(f".{os.getpid()}")
        reply.touch()
        reply.unlink()
    except OSError as error:
        raise UsageError(
            f"{error.filename or shared.token} ({error.strerror})",
            name=str(shared.token),
        ) from None
    here = code_digest(shared.backends)
    if here != shared.code:
        raise OtherCodeError(
            f"its code is {here}, but the code of the run is {shared.code}", name=here
        )
