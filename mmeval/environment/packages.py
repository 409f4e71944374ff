"""Check the packages of each extra and their versions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.parser import HeaderParser
from importlib.metadata import PackageNotFoundError, distribution
from typing import TYPE_CHECKING

from mmeval.environment.installation import own_distributions
from mmeval.findings.finding import Finding, Subject
from mmeval.installation import DISTRIBUTION, is_checkout

if TYPE_CHECKING:
    from packaging.requirements import Requirement

FOR_DEVELOPERS = "dev"


def versions() -> Iterator[Finding]:
    """Check the packages that are always needed, and the versions of those that extras
    need, by the installed metadata. An extra that is not installed is reported by what
    needs it."""
    from packaging.requirements import Requirement

    for own in own_distributions()[:1]:
        extras = sorted(own.metadata.get_all("Provides-Extra") or ())
        needed: dict[str, list[Requirement]] = {name: [] for name in ("", *extras)}
        for line in own.requires or ():
            item = Requirement(line)
            if _applies(item, ""):
                needed[""].append(item)
                continue
            for extra in extras:
                if _applies(item, extra):
                    needed[extra].append(item)
        # Most packages are needed by several extras, and their metadata are long.
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
    """The packages of an extra and of the extras in it."""
    for item in items:
        if item.name != DISTRIBUTION:
            yield item
            continue
        for inner in item.extras:
            yield from _all_of(needed[inner], needed)


def _installed(name: str) -> str | None:
    """The version of a package, by the head of its metadata. The description after
    that is long, and would be parsed as an e-mail."""
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
    """The packages that are too old, and where they are always needed, those that are
    not installed."""
    for _, item in sorted(items.items()):
        number = installed(item.name)
        if number is None:
            is_fault = always
            cause = "not installed"
        else:
            is_fault = not item.specifier.contains(number, prereleases=True)
            cause = f"{number} is installed, {item.specifier} is needed"
        if not is_fault:
            continue
        yield Finding(
            "package",
            Subject(name=item.name),
            cause=cause,
            remedy=f'pip install -U "{item.name}{item.specifier}"',
            severity="error",
        )
