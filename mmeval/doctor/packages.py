"""Check the packages of each extra and their versions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from mmeval.doctor.finding import Finding
from mmeval.doctor.installation import own_distributions
from mmeval.installation import DISTRIBUTION, install_command, is_checkout

FOR_DEVELOPERS = ("dev", "docs")


class Needed(NamedTuple):
    """A package of an extra, and the versions that it needs."""

    name: str
    versions: str
    extras: tuple[str, ...]


class _Problem(NamedTuple):
    package: str
    fault: str
    versions: str


def extras(asked: Collection[str] = ()) -> Iterator[Finding]:
    """Check the packages that are always needed, and those of each extra.
    An extra that is not installed is missing if a task, model or role has ``asked`` for it; else it is a note."""
    needed = _needed()
    yield _finding("", needed, asked)
    for extra in sorted(needed.keys() - {"", *(() if is_checkout() else FOR_DEVELOPERS)}):
        if any(item.name != DISTRIBUTION for item in needed[extra]):  # others only stand for extras
            yield _finding(extra, needed, asked)


def _finding(extra: str, needed: Mapping[str, Sequence[Needed]], asked: Collection[str]) -> Finding:
    packages = sorted(set(_all_of(extra, needed)))
    found = {item.name: _installed(item.name) for item in packages}
    here = ", ".join(f"{name} {number}" for name, number in found.items() if number)
    problems = [problem for item in packages if (problem := _problem(item, found[item.name]))]
    what = f"extra {extra}" if extra else "always needed"
    if not problems:
        return Finding("ok", f"{what}: {here}")
    faults = ", ".join(problem.fault for problem in problems)
    if not extra or all(found[problem.package] for problem in problems):  # the installed versions are too old
        wanted = " ".join(f'"{problem.package}{problem.versions}"' for problem in problems)
        return Finding("broken", f"{what}: {faults}", f"pip install -U {wanted}")
    return Finding("missing" if extra in asked else "note", f"{what}: {faults}", install_command(extra))


def _problem(item: Needed, installed: str) -> _Problem | None:
    if not installed:
        return _Problem(item.name, f"{item.name} is not installed", item.versions)
    from packaging.specifiers import SpecifierSet

    if item.versions and not SpecifierSet(item.versions).contains(installed, prereleases=True):
        return _Problem(item.name, f"{item.name} {installed} is not {item.versions}", item.versions)
    return None


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _all_of(extra: str, needed: Mapping[str, Sequence[Needed]]) -> Iterator[Needed]:
    """The packages of an extra and of the extras in it."""
    for item in needed.get(extra, ()):
        if item.name != DISTRIBUTION:
            yield item._replace(extras=())
        for inner in item.extras if item.name == DISTRIBUTION else ():
            yield from _all_of(inner, needed)


def _needed() -> dict[str, list[Needed]]:
    """The packages named by the installed metadata, by extra (empty: always needed)."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, list[Needed]] = {}
    own = own_distributions()
    if not own:
        return found
    named = own[0].metadata.get_all("Provides-Extra", [])
    for wanted in map(Requirement, own[0].requires or ()):
        item = Needed(canonicalize_name(wanted.name), str(wanted.specifier), tuple(sorted(wanted.extras)))
        marker = wanted.marker
        if marker is None or marker.evaluate({"extra": ""}):
            found.setdefault("", []).append(item)
            continue
        for extra in named:
            if marker.evaluate({"extra": extra}):
                found.setdefault(extra, []).append(item)
    return found
