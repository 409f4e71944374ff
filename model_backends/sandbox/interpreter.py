"""The Python that runs programs: where it is, what it needs, and which packages it
has."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mmeval.errors import MissingDataError, UsageError
from mmeval.records import digest

_SYSTEM = Path("/usr")
"""Bound for every program."""
_SELF_REPORT = """
import importlib.metadata, json, os, platform, site, sys
base = getattr(sys, "_base_executable", None) or sys.executable
packages = importlib.metadata.distributions() if sys.argv[1:] else []
print(json.dumps({
    "executable": sys.executable,
    "base": os.path.realpath(base),
    "prefixes": [sys.prefix, sys.exec_prefix],
    "base_prefixes": [sys.base_prefix, sys.base_exec_prefix],
    "sites": site.getsitepackages(),
    "version": f"{platform.python_implementation()} {platform.python_version()}",
    "packages": sorted({f"{one.name}=={one.version}" for one in packages}),
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """``bound`` are the folders that it needs beside ``/usr``; ``hidden`` those of
    packages, where they are not wanted. ``packages`` is a digest of their names and
    versions, or empty."""

    command: str
    version: str
    bound: tuple[Path, ...]
    hidden: tuple[Path, ...]
    libraries: str
    packages: str


@lru_cache(maxsize=32)
def interpreter(python: str, *, packages: bool) -> Interpreter:
    """The interpreter ``python``, ours if empty. Raises MissingDataError where there is
    none, UsageError for one whose folder holds what programs must not see."""
    words = ["packages"] if packages else []
    known = _report(python or sys.executable, *words)
    # in a virtual environment: the interpreter that it was made from
    if not packages and known["base"] != known["executable"]:
        known = {**_report(known["base"]), "base": known["base"]}
    prefixes = list(known["base_prefixes"])
    if packages:
        prefixes += known["prefixes"]
    folders = sorted(set(map(Path, prefixes)))
    bound = [folder for folder in folders if not folder.is_relative_to(_SYSTEM)]
    for folder in bound:
        if Path.home().is_relative_to(folder) or folder == Path("/"):
            raise UsageError(
                f"the backend 'sandbox': the Python {known['executable']} is "
                f"installed in {folder}, which holds more "
                "than Python; name another one with python=PATH",
                name="python",
            )
    outermost = [folder for folder in bound if set(folder.parents).isdisjoint(bound)]
    library = Path(known["base_prefixes"][0])
    libraries = "" if library == _SYSTEM else str(library / "lib")
    command, hidden, named = known["base"], [], ""
    if packages:
        command, named = known["executable"], digest(known["packages"])
    else:
        hidden = [site for site in map(Path, known["sites"]) if site.is_dir()]
    return Interpreter(
        command=command,
        version=known["version"],
        bound=tuple(outermost),
        hidden=tuple(hidden),
        libraries=libraries,
        packages=named,
    )


def _report(python: str, *words: str) -> dict[str, Any]:
    """What an interpreter says of itself."""
    try:
        done = subprocess.run(
            [python, "-I", "-c", _SELF_REPORT, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=True,
        )
        found: dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise MissingDataError(
            f"the backend 'sandbox': {python} does not run as Python ({error})"
        ) from None
    return found
