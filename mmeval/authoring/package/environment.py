"""An environment that holds one wheel, and beside it, visible but not installed, all that is installed here."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mmeval.authoring.package.wheel import clean_environ, pip
from mmeval.errors import UsageError
from mmeval.installation import ROOT


class Environment(NamedTuple):
    """A virtual environment. What is installed in it wins over what is only visible."""

    python: Path
    site_packages: Path

    def run(self, *words: str, stdout: int | None = None) -> subprocess.CompletedProcess[str]:
        """Run Python with these words, in the current folder, whose modules it does not see."""
        return subprocess.run(
            [str(self.python), "-P", *words],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            text=True,
            errors="replace",
            env=clean_environ(),
            check=False,
        )


def environment_with(wheel: Path, folder: Path) -> Environment:
    """Make an environment in a folder and install a wheel into it, without its dependencies and without a network:
    they are those of the running environment. Raises UsageError for a wheel that pip does not install."""
    venv.EnvBuilder(with_pip=False, symlinks=os.name != "nt").create(folder)
    base = {"base": str(folder), "platbase": str(folder)}
    found = Environment(
        python=Path(sysconfig.get_path("scripts", "venv", base)) / ("python.exe" if os.name == "nt" else "python"),
        site_packages=Path(sysconfig.get_path("purelib", "venv", base)),
    )
    done = pip("--python", str(found.python), "install", "--no-deps", "--no-index", "--quiet", str(wheel))
    if done.returncode:
        raise UsageError(f"the wheel {wheel.name} cannot be installed:\n{done.stdout.strip()}")
    # Last: pip installs nothing where it sees the same version of the package, which may be installed here.
    (found.site_packages / "running_environment.pth").write_text("".join(_visible(sys.path)), encoding="utf-8")
    return found


def _visible(paths: Sequence[str]) -> Iterator[str]:
    """The lines of a ``.pth`` file that make importable what is importable here, packages that are installed in place
    included; of the current folder only mmeval itself."""
    standard = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}
    own = ROOT
    for path in dict.fromkeys(Path(written or ".").resolve() for written in paths):
        if path.name in ("site-packages", "dist-packages"):
            yield f"import site; site.addsitedir({str(path)!r})\n"
        elif path.is_dir() and not {path, path.parent} & standard and (path == own or path != Path.cwd()):
            yield f"{path}\n"
