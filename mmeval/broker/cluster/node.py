"""What a node of a cluster has to share with the run's process: the code, and the run
folder."""

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


class Shared(NamedTuple):
    """What every node must have as this process has it: its folder ``cwd``, from which
    paths of arguments are read, the file ``token`` with its ``secret``, and the
    ``code`` of mmeval and of the named backends."""

    cwd: str
    token: Path
    secret: str
    backends: tuple[str, ...]
    code: str


class OtherCodeError(MmevalError):
    """A node runs another mmeval, or another version of a backend."""


def code_digest(backends: tuple[str, ...] = ()) -> str:
    """The version of mmeval, and a digest of its files and those of the named
    backends."""
    found = hashlib.sha256()
    for name, file in sorted(set(_code_files(backends))):
        found.update(f"{name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return f"{__version__}+{found.hexdigest()[:DIGEST_CHARS]}"


def _code_files(backends: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            continue
        # Not its search path, which in a checkout has the whole checkout, tests and
        # environments included.
        folder = Path(spec.origin).parent
        for file in folder.rglob("*.py"):
            yield f"{package}/{file.relative_to(folder)}", file
    for name in backends:
        module = sys.modules.get(
            getattr(plugins.load("mmeval.model_backends", name), "__module__", "")
        )
        if module is not None and module.__file__ is not None:
            yield module.__name__, Path(module.__file__)


def enter(shared: Shared) -> None:
    """Enter the folder of the run's process. Raises UsageError where its folders are
    not seen here, OtherCodeError where its code is another one."""
    try:
        os.chdir(shared.cwd)
        if shared.token.read_text() != shared.secret:
            raise FileNotFoundError(2, "there is another file of that name")
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
            f"its code is {here}, that of this process {shared.code}", name=here
        )
