"""Fresh environments, made offline: packages are linked from the running environment,
so no index is asked."""

import os
import site
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    PathDistribution,
    distribution,
    entry_points,
)
from pathlib import Path
from typing import Self

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
OFFLINE_PIP = {
    "PIP_NO_INDEX": "1",
    # pip reads this variable the other way round: 0 builds with what is here
    "PIP_NO_BUILD_ISOLATION": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
}
"""Variables under which ``pip install`` takes what it needs from the environment
alone."""


def copy_of_tree(destination: Path) -> list[str]:
    """Copy the checkout as the next commit would hold it; the paths of its files,
    relative to the root."""
    command = [
        "git",
        "-c",
        "safe.directory=*",
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    listed = subprocess.run(
        command, cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    paths = [path for path in listed.split("\0") if path and (ROOT / path).is_file()]
    for path in paths:
        target = destination / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / path).read_bytes())
    return paths


def build_wheel(source: Path, out: Path) -> Path:
    """Build a source distribution, and the wheel from it, as ``python -m build`` does
    for a release."""
    _succeed(
        [
            sys.executable,
            "-m",
            "build",
            "--no-isolation",
            "--outdir",
            str(out),
            str(source),
        ]
    )
    (wheel,) = out.glob("*.whl")
    return wheel


def closure(
    requirements: Iterable[str],
    extras: Sequence[str] = (),
    *,
    installed_only: bool = False,
) -> set[str]:
    """The normalised names of every distribution that these requirements bring, with
    the extras given.

    Raises PackageNotFoundError for one that is not installed here, unless
    ``installed_only``.
    """
    found: set[str] = set()
    waiting = [(line, tuple(extras)) for line in requirements]
    visited: set[tuple[str, tuple[str, ...]]] = set()
    while waiting:
        line, active = waiting.pop()
        requirement = Requirement(line)
        name = canonicalize_name(requirement.name)
        wanted = tuple(sorted(requirement.extras))
        if not _applies(requirement, active) or (name, wanted) in visited:
            continue
        visited.add((name, wanted))
        found.add(name)
        try:
            waiting += [
                (further, wanted) for further in distribution(name).requires or []
            ]
        except PackageNotFoundError:
            if not installed_only:
                raise
    return found


def _applies(requirement: Requirement, extras: Sequence[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(
        marker.evaluate({"extra": extra}) for extra in (*extras, "")
    )


def metadata_of(wheel: Path) -> Distribution:
    """The metadata that a wheel carries."""
    name, version = wheel.name.split("-")[:2]
    return PathDistribution(zipfile.Path(wheel, f"{name}-{version}.dist-info/"))


@dataclass(frozen=True)
class FreshEnvironment:
    """A virtual environment without pip. ``install`` and ``link`` fill it; ``run`` runs
    its commands."""

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> Self:
        venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
        return cls(folder)

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        return (
            self.folder
            / "lib"
            / f"python{sys.version_info.major}.{sys.version_info.minor}"
            / "site-packages"
        )

    def link(self, names: Iterable[str]) -> None:
        """Make installed distributions of the running environment visible in this
        one."""
        for name in names:
            installed = distribution(name)
            for part in {path.parts[0] for path in installed.files or ()} - {
                "..",
                "__pycache__",
                "/",
            }:
                source = Path(str(installed.locate_file(part)))
                target = self.site_packages / source.name
                if not target.exists():
                    target.symlink_to(source)

    def install(self, *words: str) -> None:
        """``pip install`` into this environment, from files alone and without
        dependencies."""
        self.pip(
            "install",
            "--quiet",
            "--no-index",
            "--no-deps",
            "--no-build-isolation",
            *words,
        )

    def pip(self, *words: str) -> str:
        """Run pip over this environment; its standard output. Fails with pip's own
        words."""
        return _succeed(
            [sys.executable, "-m", "pip", "--python", str(self.python), *words]
        )

    def run(
        self, *words: str, cwd: Path, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of this environment (``python``, ``mmeval``) with nothing of
        ours in its variables."""
        command = [str(self.folder / "bin" / words[0]), *words[1:]]
        return subprocess.run(
            command,
            cwd=cwd,
            env=clean_environ() | environ,
            capture_output=True,
            text=True,
        )

    def add_commands(self, *names: str) -> None:
        """Write console scripts as an installer does, for distributions that are seen
        and not installed there."""
        for name in names:
            (entry,) = entry_points(group="console_scripts", name=name)
            script = self.python.parent / name
            imported = f"from {entry.module} import {entry.attr}"
            script.write_text(
                f"#!{self.python}\nimport sys\n{imported}\nsys.exit({entry.attr}())\n"
            )
            script.chmod(0o755)


def reader_environment(folder: Path) -> FreshEnvironment:
    """Everything of the running environment, mmeval as it is installed there included;
    pip and mmeval are commands."""
    environment = FreshEnvironment.create(folder)
    seen = "".join(
        f"import site; site.addsitedir({path!r})\n" for path in site.getsitepackages()
    )
    (environment.site_packages / "seen.pth").write_text(seen)
    environment.add_commands("pip", "mmeval")
    return environment


def clean_environ() -> dict[str, str]:
    """The variables of this process without those that steer Python or mmeval."""
    return {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "MMEVAL_", "VIRTUAL_ENV"))
    }


def _succeed(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environ())
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout
