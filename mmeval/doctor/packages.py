"""Check the packages of each extra and their versions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from mmeval.doctor.finding import Finding
from mmeval.doctor.installation import own_distributions
from mmeval.installation import DISTRIBUTION, install_command, is_checkout

if TYPE_CHECKING:
    from packaging.requirements import Requirement

FOR_DEVELOPERS = "dev"


def extras(asked: Collection[str] = ()) -> Iterator[Finding]:
    """Check the packages that are always needed, and those of each extra, by the
    installed metadata. An extra that is not installed is missing if a task, model or
    role has ``asked`` for it; else it is a note."""
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
            # an extra without items of its own only stands for other extras
            own_items = any(item.name != DISTRIBUTION for item in items)
            if own_items and (extra != FOR_DEVELOPERS or is_checkout()):
                yield _finding(
                    extra,
                    {item.name.lower(): item for item in _all_of(items, needed)},
                    asked,
                )


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


def _finding(
    extra: str, items: Mapping[str, Requirement], asked: Collection[str]
) -> Finding:
    what = f"extra {extra}" if extra else "always needed"
    here: list[str] = []
    missing: list[str] = []
    faults: dict[str, str] = {}
    for _, item in sorted(items.items()):
        try:
            number = version(item.name)
        except PackageNotFoundError:
            missing.append(item.name)
            faults[f'"{item.name}{item.specifier}"'] = f"{item.name} is not installed"
            continue
        here.append(f"{item.name} {number}")
        if not item.specifier.contains(number, prereleases=True):
            faults[f'"{item.name}{item.specifier}"'] = (
                f"{item.name} {number} is not {item.specifier}"
            )
    if not faults:
        return Finding("ok", f"{what}: {', '.join(here)}")
    shown = f"{what}: {', '.join(faults.values())}"
    if not extra or not missing:  # the installed versions are too old
        return Finding("broken", shown, f"pip install -U {' '.join(faults)}")
    return Finding(
        "missing" if extra in asked else "note", shown, install_command(extra)
    )
