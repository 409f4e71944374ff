"""Reads version requirements such as ``>=0.2,<1`` (``requires_mmeval``)."""

from __future__ import annotations


def satisfies(version: str, requirement: str) -> bool:
    """Whether a version meets a requirement; ``0.2.dev1`` counts as its release
    ``0.2``. Raises ValueError for a requirement that is not understood."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import Version

    try:
        wanted = SpecifierSet(requirement)
    except InvalidSpecifier:
        wanted = SpecifierSet()
    if not wanted:
        raise ValueError(
            f'{requirement!r} is not a version requirement; write it like ">=0.2,<1"'
        )
    return wanted.contains(Version(version).base_version)
