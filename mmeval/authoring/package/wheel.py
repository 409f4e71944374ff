"""A wheel: built, unpacked, and compared with its entry points and project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Literal, NamedTuple

from mmeval.errors import MissingError, UsageError
from mmeval.installation import DISTRIBUTION
from mmeval.plugins import GROUPS
from mmeval.wording import counted, some

_SHOWN = 3
_NOT_PACKED = ("__pycache__", ".pyc", ".pyo", ".orig", ".rej", "~", ".egg-info")


class WheelLine(NamedTuple):
    """A line of the report: what the wheel holds (``inside``), or what is wrong."""

    severity: Literal["inside", "warning", "error"]
    message: str
    check: str
    tasks: str = ""
    """Selects the tasks of an entry point that holds some."""


class UnpackedWheel(NamedTuple):
    """A wheel's files in a folder; with it first on the path, Python finds it
    installed."""

    folder: Path
    distribution: Distribution

    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a module of mmeval that sees the wheel first; its log goes where ours
        goes."""
        seen = [str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        return subprocess.run(
            [sys.executable, "-P", "-m", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(seen)},
            check=False,
        )


def wheel_of(place: Path) -> Path:
    """The wheel itself; of a project's folder the one that is built into its ``dist``.
    It is built with what is installed here, or where a requirement is missing, in an
    environment that is made for it.

    Raises UsageError for a project that cannot be built, MissingError without the
    package build.
    """
    if place.is_file():
        return place
    if not place.is_dir():
        raise UsageError(f"{place}: there is no such wheel, and no folder of a project")
    try:
        import build
        from build.env import DefaultIsolatedEnv
        from pyproject_hooks import quiet_subprocess_runner as quietly
    except ModuleNotFoundError:
        raise MissingError(
            f"{place}: a project is built by the package build: pip install build, or "
            "name a wheel that is built"
        ) from None
    try:
        with ExitStack() as stack:
            project = build.ProjectBuilder(place, runner=quietly)
            if any(
                any(build.check_dependency(wanted))
                for wanted in project.build_system_requires
            ):
                made = stack.enter_context(DefaultIsolatedEnv())
                project = build.ProjectBuilder.from_isolated_env(
                    made, place, runner=quietly
                )
                made.install(project.build_system_requires)
                made.install(project.get_requires_for_build("wheel"))
            return place / "dist" / Path(project.build("wheel", place / "dist")).name
    except (
        build.BuildException,
        build.BuildBackendException,
        build.FailedProcessError,
    ) as error:
        said = getattr(getattr(error, "exception", None), "output", None) or b""
        reason = said.decode(errors="replace").strip().rpartition("\n")[2] or str(error)
        raise UsageError(
            f"{place}: its wheel cannot be built ({reason}); 'python -m build "
            f"{place}' says more"
        ) from None


@contextmanager
def unpacked(wheel: Path) -> Iterator[UnpackedWheel]:
    """The wheel in a temporary folder. Raises UsageError if the file is no wheel, or is
    damaged."""
    with tempfile.TemporaryDirectory(prefix="mmeval-dist-") as temporary:
        folder = Path(temporary).resolve() / "wheel"
        try:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
        except (zipfile.BadZipFile, zlib.error) as error:
            raise UsageError(
                f"{wheel}: it cannot be unpacked ({error}); build it again"
            ) from None
        found = list(distributions(path=[str(folder)]))
        if len(found) != 1 or found[0].metadata["Name"] is None:
            raise UsageError(
                f"{wheel}: is no wheel: it does not hold the metadata of one package"
            )
        yield UnpackedWheel(folder, found[0])


def check_contents(wheel: UnpackedWheel, project: Path | None) -> Iterator[WheelLine]:
    """What is in the wheel and what is missing, also by the project if there is one."""
    loaded = wheel.python("mmeval.authoring.package.load", str(wheel.folder)).stdout
    broken = dict(line.split("\t", 1) for line in loaded.splitlines())
    for entry in wheel.distribution.entry_points:
        where = f'[project.entry-points."{entry.group}"] {entry.name} = "{entry.value}"'
        module = wheel.folder.joinpath(*entry.module.split("."))
        if entry.group.startswith("mmeval.") and entry.group not in GROUPS:
            reason = f"there is no such group; the groups are {', '.join(GROUPS)}"
        elif not module.is_dir() and not any(module.parent.glob(f"{module.name}.*")):
            reason = f"the module {entry.module} is missing from the wheel"
        elif entry.group == "mmeval.tasks" and not any(module.rglob("*.yaml")):
            reason = "no task file is in the wheel"
        else:
            reason = broken.get(f"{entry.group} {entry.name}", "")
        if reason:
            yield WheelLine("error", f"{where}: {reason}", "entry points")
        elif entry.group == "mmeval.tasks":
            files = counted(sum(file.is_file() for file in module.rglob("*")), "file")
            yield WheelLine(
                "inside", f"{where}, {files}", "entry points", tasks=f"{entry.name}/*"
            )
        else:
            yield WheelLine("inside", where, "entry points")
    if project is not None:
        yield from _compared(project, wheel)
    if not any(
        re.match(rf"{DISTRIBUTION}(?![\w.-])", line, re.I)
        for line in wheel.distribution.requires or ()
    ):
        message = (
            "it does not say that it needs mmeval; write dependencies = "
            f'["{DISTRIBUTION}"]'
        )
        yield WheelLine("warning", message, "requires")
    for licence in wheel.folder.glob("*.dist-info/licenses/*"):
        if licence.is_file() and licence.read_bytes().startswith(b"PLACEHOLDER"):
            yield WheelLine(
                "warning",
                f"{licence.name} is a placeholder; put the text of your licence there",
                "licence",
            )


def _compared(project: Path, wheel: UnpackedWheel) -> Iterator[WheelLine]:
    """The files of the project's packages that the wheel lacks."""
    entries = wheel.distribution.entry_points
    tasks = tuple(
        f"{entry.module.replace('.', '/')}/"
        for entry in entries
        if entry.group == "mmeval.tasks"
    )
    tops = {entry.module.partition(".")[0] for entry in entries} | {
        path.name
        for path in wheel.folder.iterdir()
        if path.is_dir() and path.suffix not in (".dist-info", ".data")
    }
    missing: dict[tuple[str, str], list[str]] = {}
    for top in sorted(tops):
        for source in filter(
            Path.is_dir, (project / top, project / "src" / top, project / "lib" / top)
        ):
            for file in _files(source):
                name = Path(top, file.relative_to(source)).as_posix()
                if not (wheel.folder / name).is_file():
                    missing.setdefault(
                        (top, f"*{file.suffix}" if file.suffix else file.name), []
                    ).append(name)
    for (top, pattern), names in sorted(missing.items()):
        setting = f'[tool.setuptools.package-data]: "{top}" = ["**/{pattern}"]'
        if pattern == "*.py":
            setting = f'[tool.setuptools.packages.find]: include = ["{top}*"]'
        needed = pattern == "*.py" or any(name.startswith(tasks) for name in names)
        message = (
            f"missing from the wheel: {some(names, _SHOWN)} (where setuptools builds "
            f"it, add to {setting})"
        )
        yield WheelLine("error" if needed else "warning", message, "files")


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder to ship: not hidden, not made by Python or a run."""
    for home, folders, names in os.walk(folder):
        shipped = [
            name
            for name in names
            if not name.startswith(".") and not name.endswith(_NOT_PACKED)
        ]
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not name.endswith(_NOT_PACKED)
        )
        if "run.json" in names:
            shipped = folders[:] = []
        yield from (Path(home, name) for name in sorted(shipped))
