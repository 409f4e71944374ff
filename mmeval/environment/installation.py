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
    for position, one in enumerate(found):
        if position == 0 or is_checkout():
            yield from _stale(one, _where(one), shadowed=position > 0)
    for one in distributions(name="mmeval"):
        cause = f"{_where(one)} is another project, or an old version of this"
        yield _package("mmeval", cause, "pip uninstall mmeval")


def copies() -> Iterator[Finding]:
    """Check for other copies of the package on Python's path."""
    here = {ROOT}
    for entry in sys.path:
        file = Path(
            entry or ".", "mmeval", "__init__.py"
        ).resolve()  # an editable installation has a link to ours
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


def _package(name: str, cause: str, remedy: str) -> Finding:
    subject = Subject(name=name)
    return Finding("package", subject, cause=cause, remedy=remedy, severity="error")


def own_distributions() -> list[Distribution]:
    """The installed distributions of our name; Python uses the first."""
    # a folder may be on the path twice
    found = {_where(one): one for one in distributions(name=DISTRIBUTION)}
    return list(found.values())


def _stale(one: Distribution, where: str, *, shadowed: bool) -> Iterator[Finding]:
    differences = "; ".join(_differences(one))
    if differences:
        cause = f"the installation is stale: {differences}"
        found = _package(where, cause, _reinstall())
        yield replace(found, severity="note") if shadowed else found


def _differences(one: Distribution) -> Iterator[str]:
    """Metadata that differ from the code: the version, in a checkout also setup.cfg."""
    if one.version != __version__:
        yield f"it is of version {one.version}"
    if not is_checkout():
        return
    config = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    config.optionxform = str  # type: ignore[assignment,method-assign]  # keep the case of names
    config.read(ROOT / "setup.cfg", "utf-8")
    plugins = {(e.group, e.name, e.value) for e in one.entry_points}
    written = {
        (group, *pair)
        for group, text in config["options.entry_points"].items()
        for pair in _pairs(text)
    }
    yield from _difference(
        "plugins",
        {f"{g} {n}" for g, n, _ in written - plugins},
        {n for _, n, _ in plugins - written},
    )
    extras = {name.replace("_", "-") for name in config["options.extras_require"]}
    known = {
        name.replace("_", "-") for name in one.metadata.get_all("Provides-Extra") or ()
    }
    yield from _difference("extras", extras - known, known - extras)


def _difference(what: str, lacking: set[str], gone: set[str]) -> Iterator[str]:
    if lacking:
        yield f"it lacks {what} of setup.cfg: {listed(sorted(lacking), _NAMED)}"
    if gone:
        yield f"it has {what} that setup.cfg has not: {listed(sorted(gone), _NAMED)}"


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            yield name.strip(), value.strip()


def _where(one: Distribution) -> str:
    # the only source; absent for other finders than files
    folder = getattr(one, "_path", None)
    return (
        str(Path(str(folder)).resolve()) if folder is not None else "an unknown place"
    )


def _reinstall() -> str:
    """The command; empty where it is not known from where it was installed."""
    return install_command() if is_checkout() else ""
