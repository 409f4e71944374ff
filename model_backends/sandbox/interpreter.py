"""Finds the Python interpreter that runs programs: its path, folders and packages."""

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
"""The folder that is mounted for every program."""
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
    "packages": sorted({f"{package.name}=={package.version}" for package in packages}),
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter.

    ``bound`` are the folders that it needs in addition to ``/usr``. ``hidden`` are
    folders of packages that programs may not import. ``packages`` is a digest of the
    packages' names and versions. It is empty if there are no packages.
    """

    command: str
    version: str
    bound: tuple[Path, ...]
    hidden: tuple[Path, ...]
    libraries: str
    packages: str


@lru_cache(maxsize=32)
def interpreter(python: str, *, packages: bool) -> Interpreter:
    """Returns the interpreter ``python``, or the one that runs mmeval if it is empty.

    Raises MissingDataError if it does not run, and UsageError if its folder contains
    files that programs must not see.
    """
    words = ["packages"] if packages else []
    report = _report(python or sys.executable, *words)
    # In a virtual environment, use its base interpreter.
    if not packages and report["base"] != report["executable"]:
        report = {**_report(report["base"]), "base": report["base"]}
    prefixes = list(report["base_prefixes"])
    if packages:
        prefixes += report["prefixes"]
    folders = sorted(set(map(Path, prefixes)))
    bound = [folder for folder in folders if not folder.is_relative_to(_SYSTEM)]
    for folder in bound:
        if Path.home().is_relative_to(folder) or folder == Path("/"):
            raise UsageError(
                f"the backend 'sandbox': the Python {report['executable']} is "
                f"installed in {folder}, which also contains other files; set another "
                "Python with python=PATH",
                name="python",
            )
    outermost = [folder for folder in bound if set(folder.parents).isdisjoint(bound)]
    library = Path(report["base_prefixes"][0])
    libraries = "" if library == _SYSTEM else str(library / "lib")
    command, hidden, packages_digest = report["base"], [], ""
    if packages:
        command, packages_digest = report["executable"], digest(report["packages"])
    else:
        hidden = [site for site in map(Path, report["sites"]) if site.is_dir()]
    return Interpreter(
        command=command,
        version=report["version"],
        bound=tuple(outermost),
        hidden=tuple(hidden),
        libraries=libraries,
        packages=packages_digest,
    )


def _report(python: str, *words: str) -> dict[str, Any]:
    """Runs an interpreter and returns its report about itself."""
    try:
        completed = subprocess.run(
            [python, "-I", "-c", _SELF_REPORT, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=True,
        )
        report: dict[str, Any] = json.loads(completed.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise MissingDataError(
            f"the backend 'sandbox': {python} cannot run as Python ({error})"
        ) from None
    return report
