"""Check the packages of each extra and their versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
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
        lines = [Requirement(line) for line in own.requires or ()]
        always = [item for item in lines if _applies(item, "")]
        needed = {"": always}
        for extra in sorted(own.metadata.get_all("Provides-Extra") or ()):
            needed[extra] = [
                item for item in lines if _applies(item, extra) and item not in always
            ]
        for extra, items in needed.items():
            if extra != FOR_DEVELOPERS or is_checkout():
                packages = {item.name.lower(): item for item in _all_of(items, needed)}
                yield from _findings(packages, always=not extra)


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


def _findings(items: Mapping[str, Requirement], *, always: bool) -> Iterator[Finding]:
    """The packages that are too old, and where they are always needed, those that are
    not installed."""
    for _, item in sorted(items.items()):
        try:
            number = version(item.name)
        except PackageNotFoundError:
            if not always:
                continue
            cause = "not installed"
        else:
            if item.specifier.contains(number, prereleases=True):
                continue
            cause = f"{number} is installed, {item.specifier} is needed"
        yield Finding(
            "package",
            Subject(name=item.name),
            cause=cause,
            remedy=f'pip install -U "{item.name}{item.specifier}"',
            severity="error",
        )
