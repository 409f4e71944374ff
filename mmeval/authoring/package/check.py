"""What is wrong with a package as others would install it."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.authoring.finding import Severity
from mmeval.authoring.package.contents import left_out, package_folders, remedy
from mmeval.authoring.package.environment import Environment, environment_with
from mmeval.authoring.package.wheel import Wheel, build_wheel
from mmeval.errors import MmevalError

_COUNTS = re.compile(r"([\d,]+) errors?, ([\d,]+) warnings?")
_PLACEHOLDER = re.compile(r"^PLACEHOLDER\b", re.MULTILINE)


class Fault(NamedTuple):
    """Something that is wrong with a package as a whole (``error``) or doubtful (``warning``)."""

    severity: Severity
    message: str
    check: str


class TasksReport(NamedTuple):
    """What ``mmeval validate`` says of the installed tasks: its lines, paths relative to where packages are installed,
    and its counts."""

    lines: tuple[str, ...] = ()
    errors: int = 0
    warnings: int = 0


class Installed(NamedTuple):
    """A package in an environment of its own."""

    wheel: Wheel
    environment: Environment
    report: dict[str, Any]
    """What ``mmeval.authoring.package.installed`` has written; ``Any``: it is JSON."""


@contextmanager
def installed(source: Path) -> Iterator[Installed]:
    """Build and install the package of a folder; everything that it takes lies in a folder that is removed in the end.

    Raises UsageError where there is no package, and for one that cannot be built or installed.
    """
    with tempfile.TemporaryDirectory(prefix="mmeval-dist-") as folder:
        workplace = Path(folder).resolve()
        wheel = build_wheel(source, workplace)
        environment = environment_with(wheel.file, workplace / "environment")
        yield Installed(wheel, environment, _report(wheel, environment, workplace / "installed.json"))


def _report(wheel: Wheel, environment: Environment, file: Path) -> dict[str, Any]:
    done = environment.run("-m", "mmeval.authoring.package.installed", wheel.name, str(file), stdout=subprocess.DEVNULL)
    if done.returncode:
        raise MmevalError(f"what {wheel.name} has installed cannot be looked at; what Python said stands above")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def faults(source: Path, found: Installed) -> Iterator[Fault]:
    """Everything that is wrong with the package but its tasks."""
    wheel = found.wheel
    for one in left_out(source, wheel):
        message = f"missing from the wheel: {one.shown} ({remedy(one, source)})"
        yield Fault("error" if one.needed else "warning", message, "wheel")
    if not package_folders(source, wheel):
        yield Fault("error", f"the wheel holds no module whose folder lies in {source}", "wheel")
    if found.report["benchmarks"] and not found.report["tasks"]:
        yield Fault("error", f"{', '.join(found.report['benchmarks'])}: no task file is in the wheel", "entry points")
    for fault in found.report["faults"]:
        yield Fault("error", f"{fault['entry']}: {fault['reason']}", "entry points")
    if "mmeval" not in wheel.requires:
        yield Fault("warning", 'it does not say that it needs mmeval; write dependencies = ["mmeval"]', "requires")
    if any(name.startswith("licenses/") and _PLACEHOLDER.search(text) for name, text in wheel.texts.items()):
        yield Fault("warning", "LICENSE is a placeholder still; put the text of your licence there", "licence")


def tasks_report(found: Installed, flags: Sequence[str]) -> TasksReport:
    """What ``mmeval validate`` says of the tasks that the package has installed. Its log goes where ours goes."""
    tasks: list[str] = found.report["tasks"]
    if not tasks:
        return TasksReport()
    done = found.environment.run("-m", "mmeval", "validate", *tasks, *flags, stdout=subprocess.PIPE)
    *lines, last = done.stdout.splitlines() or [""]
    counts = _COUNTS.fullmatch(last)
    if counts is None:
        raise MmevalError(f"the tasks of {found.wheel.name} could not be checked to the end; the reason stands above")
    place = f"{found.environment.site_packages}/"
    errors, warnings = (int(count.replace(",", "")) for count in counts.groups())
    return TasksReport(tuple(line.replace(place, "") for line in lines), errors, warnings)
