"""Builds and unpacks a wheel, and checks its entry points and files."""

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
from typing import NamedTuple

from mmeval.errors import MissingError, UsageError
from mmeval.findings.finding import Finding, Subject
from mmeval.installation import DISTRIBUTION
from mmeval.plugins import GROUPS

_NOT_PACKED = ("__pycache__", ".pyc", ".pyo", ".orig", ".rej", "~", ".egg-info")


class UnpackedWheel(NamedTuple):
    """The folder with the files of a wheel. If this folder is first on the path, Python
    finds the package as if it were installed."""

    folder: Path
    distribution: Distribution

    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a module of mmeval with the wheel first on the path. Its stderr is
        inherited."""
        path = str(self.folder)
        if os.environ.get("PYTHONPATH"):
            path += os.pathsep + os.environ["PYTHONPATH"]
        return subprocess.run(
            [sys.executable, "-P", "-m", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "PYTHONPATH": path},
            check=False,
        )


def wheel_of(place: Path) -> Path:
    """Returns the given wheel, or builds the wheel of a project's folder into its
    ``dist``. It is built in this environment, or in an isolated environment if a
    requirement is missing.

    Raises UsageError for a project that cannot be built, and MissingError if the
    package build is missing.
    """
    if place.is_file():
        return place
    if not place.is_dir():
        raise UsageError(f"{place} is neither a wheel nor a project folder")
    try:
        import build
        from build.env import DefaultIsolatedEnv
        from pyproject_hooks import quiet_subprocess_runner as quietly
    except ModuleNotFoundError:
        raise MissingError(
            f"{place}: building a project needs the package build; pip install build, "
            "or give a built wheel"
        ) from None
    try:
        with ExitStack() as stack:
            project = build.ProjectBuilder(place, runner=quietly)
            missing: list[tuple[str, ...]] = []
            for requirement in project.build_system_requires:
                missing += build.check_dependency(requirement)
            if missing:
                environment = stack.enter_context(DefaultIsolatedEnv())
                project = build.ProjectBuilder.from_isolated_env(
                    environment, place, runner=quietly
                )
                environment.install(project.build_system_requires)
                environment.install(project.get_requires_for_build("wheel"))
            return place / "dist" / Path(project.build("wheel", place / "dist")).name
    except (
        build.BuildException,
        build.BuildBackendException,
        build.FailedProcessError,
    ) as error:
        output = getattr(getattr(error, "exception", None), "output", None) or b""
        lines = output.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else str(error)
        raise UsageError(
            f"{place}: its wheel cannot be built ({reason}); 'python -m build "
            f"{place}' shows the whole output"
        ) from None


@contextmanager
def unpacked(wheel: Path) -> Iterator[UnpackedWheel]:
    """Unpacks a wheel into a temporary folder. Raises UsageError if the file is not a
    wheel, or is damaged."""
    with tempfile.TemporaryDirectory(prefix="mmeval-dist-") as temporary:
        folder = Path(temporary).resolve() / "wheel"
        try:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
        except (zipfile.BadZipFile, zlib.error) as error:
            raise UsageError(
                f"{wheel}: it cannot be unpacked ({error}); build it again"
            ) from None
        packages = list(distributions(path=[str(folder)]))
        if len(packages) != 1 or packages[0].metadata["Name"] is None:
            raise UsageError(
                f"{wheel} is not a wheel: a wheel has the metadata of one package"
            )
        yield UnpackedWheel(folder, packages[0])


class WheelContents(NamedTuple):
    """A wheel's described entry points, the names that select its tasks, and
    findings."""

    inside: list[str]
    tasks: list[str]
    findings: list[Finding]


def check_contents(wheel: UnpackedWheel, project: Path | None) -> WheelContents:
    """Checks entry points and files. With a ``project`` it also checks for missing
    files."""
    loaded = wheel.python("mmeval.authoring.package.load", str(wheel.folder)).stdout
    broken = dict(line.split("\t", 1) for line in loaded.splitlines())
    contents = WheelContents([], [], [])
    for entry in wheel.distribution.entry_points:
        where = f"{entry.group}: {entry.name} = {entry.value}"
        module = wheel.folder.joinpath(*entry.module.split("."))
        is_there = module.is_dir() or any(module.parent.glob(f"{module.name}.*"))
        is_of_tasks = entry.group == "mmeval.tasks"
        if entry.group.startswith("mmeval.") and entry.group not in GROUPS:
            cause = f"unknown group; the groups are {', '.join(GROUPS)}"
        elif not is_there:
            cause = f"the module {entry.module} is missing from the wheel"
        elif is_of_tasks and not any(module.rglob("*.yaml")):
            cause = "no task file is in the wheel"
        else:
            cause = broken.get(f"{entry.group} {entry.name}", "")
        if cause:
            subject = Subject(name=where)
            contents.findings.append(
                Finding("package", subject, cause=cause, severity="error")
            )
            continue
        contents.inside.append(where)
        if is_of_tasks:
            contents.tasks.append(f"{entry.name}/*")
    if project is not None:
        contents.findings.extend(_compared(project, wheel))
    package = Subject(name=wheel.distribution.name)
    requirements = wheel.distribution.requires or []
    # only the name, as the version after it may be malformed
    needs_us = re.compile(rf"{DISTRIBUTION}(?![\w.-])", re.IGNORECASE)
    if not any(map(needs_us.match, requirements)):
        cause = f'it needs mmeval; write dependencies = ["{DISTRIBUTION}"]'
        contents.findings.append(Finding("package", package, cause=cause))
    for licence in wheel.folder.glob("*.dist-info/licenses/*"):
        if licence.is_file() and licence.read_bytes().startswith(b"PLACEHOLDER"):
            subject = Subject(name=licence.name)
            cause = "a placeholder; replace it with the text of your licence"
            contents.findings.append(Finding("package", subject, cause=cause))
    return contents


def _compared(project: Path, wheel: UnpackedWheel) -> Iterator[Finding]:
    """Yields the files of the project's packages that are missing from the wheel."""
    tops: set[str] = set()
    tasks: list[str] = []
    for entry in wheel.distribution.entry_points:
        tops.add(entry.module.partition(".")[0])
        if entry.group == "mmeval.tasks":
            tasks.append(f"{entry.module.replace('.', '/')}/")
    for path in wheel.folder.iterdir():
        if path.is_dir() and path.suffix not in (".dist-info", ".data"):
            tops.add(path.name)
    for top in sorted(tops):
        for source in (project / top, project / "src" / top, project / "lib" / top):
            for file in _files(source):
                name = Path(top, file.relative_to(source)).as_posix()
                if not (wheel.folder / name).is_file():
                    is_task = name.startswith(tuple(tasks))
                    yield _missing(top, name, is_task=is_task)


def _missing(
    top: str,
    name: str,
    *,
    is_task: bool,
) -> Finding:
    suffix = Path(name).suffix
    pattern = f"*{suffix}" if suffix else Path(name).name
    setting = f'[tool.setuptools.package-data]: "{top}" = ["**/{pattern}"]'
    if suffix == ".py":
        setting = f'[tool.setuptools.packages.find]: include = ["{top}*"]'
    return Finding(
        "package",
        Subject(file=name),
        cause=f"missing from the wheel; add to {setting}",
        severity="error" if is_task or suffix == ".py" else "warning",
    )


def _files(folder: Path) -> Iterator[Path]:
    """Yields the files of a folder that belong in a package. Hidden files, and files
    that Python or a run has written, are left out."""
    for home, folders, names in os.walk(folder):
        if "run.json" in names:
            folders.clear()
            continue
        folders[:] = sorted(filter(_is_packed, folders))
        for name in sorted(filter(_is_packed, names)):
            yield Path(home, name)


def _is_packed(name: str) -> bool:
    return not name.startswith(".") and not name.endswith(_NOT_PACKED)
