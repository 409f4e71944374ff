"""Check this installation: Python, mmeval, and its metadata against the code."""

from __future__ import annotations

import configparser
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from mmeval._version import __version__
from mmeval.doctor.finding import Finding
from mmeval.installation import DISTRIBUTION, ROOT, install_command, is_checkout
from mmeval.wording import some

_NAMED = 5


def versions() -> Iterator[Finding]:
    machine = f"{platform.system()} {platform.machine()}"
    yield Finding(
        "ok", f"Python {platform.python_version()} on {machine}: {sys.executable}"
    )
    yield Finding(
        "ok",
        f"mmeval {__version__}, {'a checkout' if is_checkout() else 'installed'}: "
        f"{ROOT}",
    )


def metadata() -> Iterator[Finding]:
    """Check that the installed metadata of mmeval belong to this code and are
    current."""
    found = own_distributions()
    if not found:
        yield Finding(
            "broken",
            "mmeval is not installed, so that none of its tasks and metrics are found",
            _reinstall(),
        )
    for position, one in enumerate(found):
        if position == 0 or is_checkout():
            yield from _stale(one, _where(one), shadowed=position > 0)
    for one in distributions(name="mmeval"):
        message = (
            f"the distribution mmeval {one.version} in {_where(one)} is another "
            "project, or an old version of this"
        )
        yield Finding("broken", message, f"pip uninstall mmeval, then {_reinstall()}")


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
        message = (
            f"another copy of the package is in {folder}; the one that runs is in "
            f"{ROOT}"
        )
        yield Finding(
            "note",
            message,
            f"remove one of them: pip uninstall {DISTRIBUTION}, or leave PYTHONPATH "
            "out",
        )


def own_distributions() -> list[Distribution]:
    """The installed distributions of our name; Python uses the first."""
    # a folder may be on the path twice
    found = {_where(one): one for one in distributions(name=DISTRIBUTION)}
    return list(found.values())


def _stale(one: Distribution, where: str, *, shadowed: bool) -> Iterator[Finding]:
    differences = list(_differences(one))
    if not differences:
        if not shadowed:
            yield Finding("ok", f"the installed metadata match the code: {where}")
        return
    fix = _reinstall()
    if where.endswith(".egg-info"):
        fix += f"; if that does not help, delete {where}"
    message = f"the installation is stale, {where}: {'; '.join(differences)}"
    yield Finding("note" if shadowed else "broken", message, fix)


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
        yield f"it lacks {what} of setup.cfg: {some(sorted(lacking), _NAMED)}"
    if gone:
        yield f"it has {what} that setup.cfg has not: {some(sorted(gone), _NAMED)}"


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
    return (
        install_command()
        if is_checkout()
        else "install mmeval anew from where you have it"
    )
