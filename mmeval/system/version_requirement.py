"""Reads version requirements such as ``>=0.2,<1`` (``requires_mmeval``)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TypeAlias

Release: TypeAlias = tuple[int, ...]

_CLAUSE = re.compile(r"(==|!=|>=|<=|>|<)\s*(\d+(?:\.\d+)*)")
_OPERATORS: dict[str, Callable[[Release, Release], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def parse_specifier(specifier: str) -> list[tuple[str, Release]]:
    """The clauses of a specifier. Raises ValueError for one that is not understood."""
    clauses = []
    for clause in specifier.split(","):
        match = _CLAUSE.fullmatch(clause.strip())
        if match is None:
            raise ValueError(f'{clause.strip()!r} is no version requirement; write it like ">=0.2,<1"')
        clauses.append((match[1], _release(match[2])))
    return clauses


def satisfies(version: str, specifier: str) -> bool:
    """Whether a version meets all clauses; ``0.2.dev1`` counts as its release ``0.2``."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    release = _release(found[0] if found else "0")
    return all(_OPERATORS[sign](release, wanted) for sign, wanted in parse_specifier(specifier))


def _release(text: str) -> Release:
    """``1.2.0`` as (1, 2), without trailing zeros."""
    numbers = [int(number) for number in text.split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
