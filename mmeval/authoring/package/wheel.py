"""Builds the wheel of a package from a copy of its folder, in which nothing is left behind."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.parser import Parser
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from mmeval.errors import MissingExtraError, UsageError

DEFAULT_BACKEND = "setuptools.build_meta:__legacy__"
_LEFT_OUT = ("venv", "env", "build", "dist", "runs")
"""What no build reads of the package's own folder, or what an earlier one left: stale files of ``build`` would be
packed again."""
_LEFT_OUT_ANYWHERE = (
    ".git", ".hg", ".venv", "*.egg-info", "__pycache__", "*.pyc", ".tox", ".nox", ".mypy_cache", ".ruff_cache",
    ".pytest_cache", "node_modules",
)  # fmt: skip
_LINKED_FROM = 2**20
"""Larger files are linked into the copy, not copied: they are data, which no build writes to."""
_SHOWN_LINES = 6


class Wheel(NamedTuple):
    """A wheel that was built. ``names`` are the files in it, its own metadata left out; ``requires`` the names of the
    packages that it needs, ``texts`` its files of metadata by name."""

    file: Path
    names: frozenset[str]
    name: str
    version: str
    requires: frozenset[str]
    texts: Mapping[str, str]


def build_wheel(source: Path, workplace: Path) -> Wheel:
    """Build the wheel of the package in ``source``. Nothing is fetched where what its build needs is installed here;
    else pip fetches that into an environment of the build's own.

    Raises UsageError where there is no package, and for one that cannot be built, with the end of what was said and the
    file that has all of it; MissingExtraError without pip.
    """
    if not (source / "pyproject.toml").is_file() and not (source / "setup.py").is_file():
        raise UsageError(f"{source} holds no package: it has no pyproject.toml; name the folder that has one")
    copy, out = workplace / "source", workplace / "wheel"
    shutil.copytree(source, copy, ignore=partial(_not_copied, source), copy_function=_copy, symlinks=True)
    if (source / ".git").exists():  # some backends ask it which files there are, or for the version
        (copy / ".git").symlink_to((source / ".git").resolve())
    words = ["wheel", "--no-deps", "--wheel-dir", str(out)]
    lacking = _lacking(source)
    if not lacking:
        words += ["--no-build-isolation", "--no-index"]
    done = pip(*words, str(copy))
    found = sorted(out.glob("*.whl")) if done.returncode == 0 else []
    if not found:
        raise UsageError(_failure(source, done.stdout, _hint(lacking)))
    return read_wheel(found[0])


def read_wheel(file: Path) -> Wheel:
    """What a wheel holds."""
    with zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        own = {name for name in names if PurePosixPath(name).parts[0].endswith(".dist-info")}
        texts = {
            name.partition("/")[2]: archive.read(name).decode("utf-8", "replace")
            for name in own
            if archive.getinfo(name).file_size < _LINKED_FROM
        }
    headers = Parser().parsestr(texts["METADATA"], headersonly=True)
    return Wheel(
        file=file,
        names=frozenset(names) - own,
        name=str(headers["Name"]),
        version=str(headers["Version"]),
        requires=frozenset(_names(map(str, headers.get_all("Requires-Dist", [])))),
        texts=texts,
    )


def backend_of(source: Path) -> str:
    """The build backend that a package names; that of setuptools where it names none."""
    return str(_build_system(source).get("build-backend", DEFAULT_BACKEND))


def _build_system(source: Path) -> Mapping[str, Any]:
    # Any: what stands in a TOML file has any type.
    file = source / "pyproject.toml"
    if not file.is_file():
        return {}
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8")).get("build-system", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: is no TOML ({error})") from None
    return found if isinstance(found, dict) else {}


def _lacking(source: Path) -> list[str]:
    """What the build of a package requires and is not installed here, or not in that version."""
    settings = _build_system(source)
    asked = settings.get("requires", ["setuptools"])
    lacking = [str(line) for line in asked if not _is_met(str(line))] if isinstance(asked, list) else []
    module = backend_of(source).partition(":")[0]
    if lacking or "backend-path" in settings or importlib.util.find_spec(module.partition(".")[0]) is not None:
        return lacking
    return [module]


def _is_met(line: str) -> bool:
    """Whether a requirement is met by what is installed here. Of one that cannot be read pip says the rest."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        wanted = Requirement(line)
        if wanted.marker is not None and not wanted.marker.evaluate():
            return True
        return wanted.specifier.contains(version(wanted.name), prereleases=True)
    except PackageNotFoundError:
        return False
    except InvalidRequirement:
        return True


def _names(requirements: Iterable[str]) -> Iterator[str]:
    """The names of required packages, each in the one form that all of its spellings have."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    for line in requirements:
        with contextlib.suppress(InvalidRequirement):  # pip has read it, so that it is of another dialect
            yield canonicalize_name(Requirement(line).name)


def _hint(lacking: Sequence[str]) -> str:
    if not lacking:
        return ""
    wanted = " ".join(f'"{line}"' for line in lacking)
    return f"; {', '.join(lacking)} is not installed here and could not be fetched: pip install -U {wanted}"


def _not_copied(source: Path, folder: str, names: list[str]) -> set[str]:
    """What of a folder is left out. A package may well hold data in a folder called ``build`` or ``runs``."""
    patterns = _LEFT_OUT_ANYWHERE if Path(folder) != source else (*_LEFT_OUT, *_LEFT_OUT_ANYWHERE)
    return shutil.ignore_patterns(*patterns)(folder, names)


def _copy(source: str, target: str) -> str:
    if Path(source).stat().st_size >= _LINKED_FROM:
        try:
            os.link(source, target)
        except OSError:  # another disk
            pass
        else:
            return target
    return str(shutil.copy2(source, target))


def _failure(source: Path, said: str, hint: str) -> str:
    with tempfile.NamedTemporaryFile("w", prefix="mmeval-build-", suffix=".log", delete=False, encoding="utf-8") as log:
        log.write(said)
    lines = [line.rstrip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() and not line.startswith(("note:", "hint:"))] or lines
    end = "\n".join(f"  {line.strip()}" for line in telling[-_SHOWN_LINES:])
    return f"the wheel of {source} cannot be built{hint}; the whole log is in {log.name}\n{end}"


def pip(*words: str) -> subprocess.CompletedProcess[str]:
    """Run pip; its errors come with its output. Raises MissingExtraError without pip."""
    if importlib.util.find_spec("pip") is None:
        raise MissingExtraError("pip")
    return subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=clean_environ(),
        check=False,
    )


def clean_environ() -> dict[str, str]:
    """The variables of this process without those that steer Python."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
