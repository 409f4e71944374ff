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
from typing import NamedTuple

from mmeval.errors import MissingError, UsageError
from mmeval.findings.finding import Finding, Subject
from mmeval.installation import DISTRIBUTION
from mmeval.plugins import GROUPS

_NOT_PACKED = ("__pycache__", ".pyc", ".pyo", ".orig", ".rej", "~", ".egg-info")


class UnpackedWheel(NamedTuple):
    """A wheel's files in a folder; with it first on the path, Python finds it
    installed."""

    folder: Path
    distribution: Distribution

    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a module of mmeval that sees the wheel first; its log goes where ours
        goes."""
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


class WheelContents(NamedTuple):
    """The entry points of a wheel in words, names that select its tasks, and what is
    wrong with it."""

    inside: list[str]
    tasks: list[str]
    findings: list[Finding]


def check_contents(wheel: UnpackedWheel, project: Path | None) -> WheelContents:
    """What is in the wheel and what is missing, also by the project if there is one."""
    loaded = wheel.python("mmeval.authoring.package.load", str(wheel.folder)).stdout
    broken = dict(line.split("\t", 1) for line in loaded.splitlines())
    found = WheelContents([], [], [])
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
            found.findings.append(
                Finding("package", subject, cause=cause, severity="error")
            )
            continue
        found.inside.append(where)
        if is_of_tasks:
            found.tasks.append(f"{entry.name}/*")
    if project is not None:
        found.findings.extend(_compared(project, wheel))
    own = Subject(name=wheel.distribution.name)
    requirements = wheel.distribution.requires or []
    # the name alone: what follows it may be spelled as no standard allows
    needs_us = re.compile(rf"{DISTRIBUTION}(?![\w.-])", re.IGNORECASE)
    if not any(map(needs_us.match, requirements)):
        cause = f'write dependencies = ["{DISTRIBUTION}"], as it needs mmeval'
        found.findings.append(Finding("package", own, cause=cause))
    for licence in wheel.folder.glob("*.dist-info/licenses/*"):
        if licence.is_file() and licence.read_bytes().startswith(b"PLACEHOLDER"):
            subject = Subject(name=licence.name)
            cause = "a placeholder; put the text of your licence there"
            found.findings.append(Finding("package", subject, cause=cause))
    return found


def _compared(project: Path, wheel: UnpackedWheel) -> Iterator[Finding]:
    """The files of the project's packages that the wheel lacks."""
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
    """The files of a folder to ship: not hidden, not made by Python or a run."""
    for home, folders, names in os.walk(folder):
        if "run.json" in names:
            folders.clear()
            continue
        folders[:] = sorted(filter(_is_packed, folders))
        for name in sorted(filter(_is_packed, names)):
            yield Path(home, name)


def _is_packed(name: str) -> bool:
    return not name.startswith(".") and not name.endswith(_NOT_PACKED)
