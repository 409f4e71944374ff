"""Reads version requirements such as ``>=0.2,<1`` (``requires_mmeval``)."""

from __future__ import annotations


def satisfies(version: str, requirement: str) -> bool:
    """Returns True if a version meets a requirement; ``0.2.dev1`` is treated as release
    ``0.2``.

    Raises ValueError for an invalid requirement.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import Version

    try:
        specifiers = SpecifierSet(requirement)
    except InvalidSpecifier:
        specifiers = SpecifierSet()
    if not specifiers:
        raise ValueError(
            f'{requirement!r} is not a version requirement; write it like ">=0.2,<1"'
        )
    return specifiers.contains(Version(version).base_version)
