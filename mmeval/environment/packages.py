"""Checks the packages of each extra and their versions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.parser import HeaderParser
from importlib.metadata import PackageNotFoundError, distribution
from typing import TYPE_CHECKING

from mmeval.environment.installation import mmeval_distributions
from mmeval.findings.finding import Finding, Subject
from mmeval.installation import DISTRIBUTION, is_checkout

if TYPE_CHECKING:
    from packaging.requirements import Requirement

FOR_DEVELOPERS = "dev"


def versions() -> Iterator[Finding]:
    """Checks the installed packages against the requirements in mmeval's metadata.

    Required packages must be installed; packages of extras must have a suitable version
    if they are installed. A missing extra is reported by the plugin that needs it.
    """
    from packaging.requirements import Requirement

    for package in mmeval_distributions()[:1]:
        extras = sorted(package.metadata.get_all("Provides-Extra") or ())
        needed: dict[str, list[Requirement]] = {name: [] for name in ("", *extras)}
        for line in package.requires or ():
            item = Requirement(line)
            if _applies(item, ""):
                needed[""].append(item)
                continue
            for extra in extras:
                if _applies(item, extra):
                    needed[extra].append(item)
        # most packages are needed by several extras, and reading metadata is slow
        installed = functools.cache(_installed)
        for extra, items in needed.items():
            if extra != FOR_DEVELOPERS or is_checkout():
                packages = {item.name.lower(): item for item in _all_of(items, needed)}
                yield from _findings(packages, installed, always=not extra)


def _applies(item: Requirement, extra: str) -> bool:
    return item.marker is None or item.marker.evaluate({"extra": extra})


def _all_of(
    items: Sequence[Requirement], needed: Mapping[str, Sequence[Requirement]]
) -> Iterator[Requirement]:
    """Yields the packages of an extra and of the extras that it includes."""
    for item in items:
        if item.name != DISTRIBUTION:
            yield item
            continue
        for inner in item.extras:
            yield from _all_of(needed[inner], needed)


def _installed(name: str) -> str | None:
    """Returns the version of a package, from the header of its metadata.

    Parsing the long description after the header would be slow.
    """
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return None
    text = package.read_text("METADATA") or package.read_text("PKG-INFO") or ""
    head, _, _ = text.partition("\n\n")
    return HeaderParser().parsestr(head)["Version"]


def _findings(
    items: Mapping[str, Requirement],
    installed: Callable[[str], str | None],
    *,
    always: bool,
) -> Iterator[Finding]:
    """Yields findings about packages with a wrong version.

    If ``always`` is true, packages that are not installed are reported too.
    """
    for _, item in sorted(items.items()):
        number = installed(item.name)
        if number is None:
            is_fault = always
            cause = "it is not installed"
        else:
            is_fault = not item.specifier.contains(number, prereleases=True)
            cause = f"{number} is installed, but {item.specifier} is needed"
        if not is_fault:
            continue
        yield Finding(
            "package",
            Subject(name=item.name),
            cause=cause,
            remedy=f'pip install -U "{item.name}{item.specifier}"',
            severity="error",
        )
