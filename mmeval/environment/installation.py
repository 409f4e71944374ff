"""Checks this installation: Python, mmeval, and whether metadata match the code."""

from __future__ import annotations

import configparser
import platform
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import Distribution, distributions
from pathlib import Path

from mmeval._version import __version__
from mmeval.findings.finding import Finding, Subject
from mmeval.installation import DISTRIBUTION, ROOT, install_command, is_checkout
from mmeval.system.wording import listed

_NAMED = 5


def versions() -> str:
    """Describes the versions of mmeval (with its folder), Python and the system."""
    machine = f"{platform.system()} {platform.machine()}"
    kind = "a checkout" if is_checkout() else "installed"
    return (
        f"mmeval {__version__}, {kind} in {ROOT}; Python "
        f"{platform.python_version()} on {machine}"
    )


def metadata() -> Iterator[Finding]:
    """Checks that mmeval's installed metadata match this code and are up to date."""
    packages = mmeval_distributions()
    if not packages:
        cause = "it is not installed, so its tasks and metrics are not found"
        yield _package(DISTRIBUTION, cause, _reinstall())
    for position, package in enumerate(packages if is_checkout() else packages[:1]):
        differences = "; ".join(_differences(package))
        if differences:
            cause = f"the installation is stale: {differences}"
            finding = _package(_where(package), cause, _reinstall())
            is_shadowed = position > 0
            yield replace(finding, severity="note") if is_shadowed else finding
    for package in distributions(name="mmeval"):
        cause = f"{_where(package)} is another project, or an old version of this one"
        yield _package("mmeval", cause, "pip uninstall mmeval")


def copies() -> Iterator[Finding]:
    """Checks for other copies of the package on Python's path."""
    checked = {ROOT}
    for entry in sys.path:
        # an editable installation has a link to this copy
        file = Path(entry or ".", "mmeval", "__init__.py").resolve()
        folder = file.parent.parent
        if folder in checked or not file.is_file():
            continue
        checked.add(folder)
        yield Finding(
            "package",
            Subject(name=str(folder)),
            cause=f"another copy of mmeval; the running copy is in {ROOT}",
            remedy=f"pip uninstall {DISTRIBUTION}",
            severity="note",
        )


def _package(
    name: str,
    cause: str,
    remedy: str,
) -> Finding:
    subject = Subject(name=name)
    return Finding("package", subject, cause=cause, remedy=remedy, severity="error")


def mmeval_distributions() -> list[Distribution]:
    """Returns the installed distributions of mmeval. Python imports the first one."""
    # a folder may be on the path twice
    by_place = {_where(item): item for item in distributions(name=DISTRIBUTION)}
    return list(by_place.values())


def _differences(package: Distribution) -> Iterator[str]:
    """Yields the differences between metadata and code.

    The version is compared and, in a checkout, also the content of setup.cfg.
    """
    if package.version != __version__:
        yield f"it has the version {package.version}"
    if not is_checkout():
        return
    config = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    config.optionxform = str  # type: ignore[assignment,method-assign]  # keep the case of names
    config.read(ROOT / "setup.cfg", "utf-8")
    plugins = {(entry.group, entry.name, entry.value) for entry in package.entry_points}
    in_setup_cfg: set[tuple[str, str, str]] = set()
    for group, text in config["options.entry_points"].items():
        for line in text.splitlines():
            name, equals, value = line.partition("=")
            if equals:
                in_setup_cfg.add((group, name.strip(), value.strip()))
    missing = {f"{group} {name}" for group, name, _ in in_setup_cfg - plugins}
    removed = {name for _, name, _ in plugins - in_setup_cfg}
    yield from _difference("plugins", missing, removed)
    installed = package.metadata.get_all("Provides-Extra") or ()
    known = {name.replace("_", "-") for name in installed}
    extras = {name.replace("_", "-") for name in config["options.extras_require"]}
    yield from _difference("extras", extras - known, known - extras)


def _difference(
    what: str,
    missing: set[str],
    removed: set[str],
) -> Iterator[str]:
    if missing:
        yield f"it lacks {what} of setup.cfg: {listed(sorted(missing), _NAMED)}"
    if removed:
        names = listed(sorted(removed), _NAMED)
        yield f"it has {what} that are not in setup.cfg: {names}"


def _where(package: Distribution) -> str:
    # there is no public attribute for the folder, and only some distributions have this
    # attribute
    folder = getattr(package, "_path", None)
    if folder is None:
        return "an unknown folder"
    return str(Path(str(folder)).resolve())


def _reinstall() -> str:
    """Returns the command that reinstalls a checkout; empty for other installations."""
    return install_command() if is_checkout() else ""
