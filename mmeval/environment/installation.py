"""Check this installation: Python, mmeval, and its metadata against the code."""

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
    """What runs here: mmeval, its folder, Python and the system."""
    machine = f"{platform.system()} {platform.machine()}"
    kind = "a checkout" if is_checkout() else "installed"
    return (
        f"mmeval {__version__}, {kind} in {ROOT}; Python "
        f"{platform.python_version()} on {machine}"
    )


def metadata() -> Iterator[Finding]:
    """Check that the installed metadata of mmeval belong to this code and are
    current."""
    found = own_distributions()
    if not found:
        cause = "not installed, so its tasks and metrics are not found"
        yield _package(DISTRIBUTION, cause, _reinstall())
    for position, one in enumerate(found if is_checkout() else found[:1]):
        differences = "; ".join(_differences(one))
        if differences:
            cause = f"the installation is stale: {differences}"
            finding = _package(_where(one), cause, _reinstall())
            is_shadowed = position > 0
            yield replace(finding, severity="note") if is_shadowed else finding
    for one in distributions(name="mmeval"):
        cause = f"{_where(one)} is another project, or an old version of this"
        yield _package("mmeval", cause, "pip uninstall mmeval")


def copies() -> Iterator[Finding]:
    """Check for other copies of the package on Python's path."""
    here = {ROOT}
    for entry in sys.path:
        # an editable installation has a link to ours
        file = Path(entry or ".", "mmeval", "__init__.py").resolve()
        folder = file.parent.parent
        if folder in here or not file.is_file():
            continue
        here.add(folder)
        yield Finding(
            "package",
            Subject(name=str(folder)),
            cause=f"another copy of mmeval; the one that runs is in {ROOT}",
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


def own_distributions() -> list[Distribution]:
    """The installed distributions of our name; Python uses the first."""
    # a folder may be on the path twice
    found = {_where(one): one for one in distributions(name=DISTRIBUTION)}
    return list(found.values())


def _differences(one: Distribution) -> Iterator[str]:
    """Metadata that differ from the code: the version, in a checkout also setup.cfg."""
    if one.version != __version__:
        yield f"it is of version {one.version}"
    if not is_checkout():
        return
    config = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    config.optionxform = str  # type: ignore[assignment,method-assign]  # keep the case of names
    config.read(ROOT / "setup.cfg", "utf-8")
    plugins = {(entry.group, entry.name, entry.value) for entry in one.entry_points}
    written: set[tuple[str, str, str]] = set()
    for group, text in config["options.entry_points"].items():
        for line in text.splitlines():
            name, equals, value = line.partition("=")
            if equals:
                written.add((group, name.strip(), value.strip()))
    lacking = {f"{group} {name}" for group, name, _ in written - plugins}
    gone = {name for _, name, _ in plugins - written}
    yield from _difference("plugins", lacking, gone)
    stated = one.metadata.get_all("Provides-Extra") or ()
    known = {name.replace("_", "-") for name in stated}
    extras = {name.replace("_", "-") for name in config["options.extras_require"]}
    yield from _difference("extras", extras - known, known - extras)


def _difference(
    what: str,
    lacking: set[str],
    gone: set[str],
) -> Iterator[str]:
    if lacking:
        yield f"it lacks {what} of setup.cfg: {listed(sorted(lacking), _NAMED)}"
    if gone:
        yield f"it has {what} that setup.cfg has not: {listed(sorted(gone), _NAMED)}"


def _where(one: Distribution) -> str:
    # the only source; absent for other finders than files
    folder = getattr(one, "_path", None)
    if folder is None:
        return "an unknown place"
    return str(Path(str(folder)).resolve())


def _reinstall() -> str:
    """The command; empty where it is not known from where it was installed."""
    return install_command() if is_checkout() else ""
