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
    known = _report(python or sys.executable, *(["packages"] if packages else []))
    # in a virtual environment: the interpreter that it was made from
    if not packages and known["base"] != known["executable"]:
        known = {**_report(known["base"]), "base": known["base"]}
    folders = {
        Path(folder)
        for folder in [
            *known["base_prefixes"],
            *(known["prefixes"] if packages else ()),
        ]
    }
    bound = [folder for folder in sorted(folders) if not folder.is_relative_to(_SYSTEM)]
    for folder in bound:
        if Path.home().is_relative_to(folder) or folder == Path("/"):
            raise UsageError(
                f"the backend 'sandbox': the Python {known['executable']} is "
                f"installed in {folder}, which holds more "
                "than Python; name another one with python=PATH",
                name="python",
            )
    sites = (
        []
        if packages
        else [Path(site) for site in known["sites"] if Path(site).is_dir()]
    )
    library = Path(known["base_prefixes"][0])
    return Interpreter(
        command=known["executable"] if packages else known["base"],
        version=known["version"],
        bound=tuple(
            folder
            for folder in bound
            if not any(other in folder.parents for other in bound)
        ),
        hidden=tuple(sites),
        libraries="" if library == _SYSTEM else str(library / "lib"),
        packages=digest(known["packages"]) if packages else "",
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
