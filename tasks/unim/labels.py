"""Reads UniM's labels: field, domain, difficulty and capabilities."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from mmeval.tasks.unim.domains import FIELDS

DIFFICULTIES = {"1": "easy", "2": "medium", "3": "hard"}
CAPABILITY_KEYS = ("capabilities", "capability", "capability_labels")
"""Likely keys of the capabilities. The authors have not published the real key."""
CAPABILITIES: Mapping[str, str] = {
    "C1": "perceptual understanding",
    "C2": "spatial understanding",
    "C3": "temporal understanding",
    "C4": "semantic generation",
    "C5": "content editing",
    "C6": "creative expression",
    "C7": "reasoning",
    "C8": "emotional analysis",
    "C9": "structural analysis",
    "C10": "planning",
}
"""The ten capabilities by their ids in the paper (table 10)."""

_FIELD_ALIASES = {"general_domain": "general_area"}
_DOMAIN = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
_CAPABILITY = re.compile(r"c?0*+([1-9][0-9]?)")
_CAPABILITY_IDS = {
    name.replace(" ", "_"): number for number, name in CAPABILITIES.items()
}
_HEAVIEST = 1e9
"""The largest valid weight, since the sum of larger JSON numbers may overflow."""
_SHOWN = 80
"""Maximum number of characters of an invalid value in a message."""


class FieldDomain(NamedTuple):
    """Field and domain in the paper's terms. An unknown one is an empty string.

    In the data the field's key is ``domain``, and the domain's key is ``subdomain``.
    """

    field: str = ""
    domain: str = ""


ANY = FieldDomain()


def word(value: object) -> str:
    """Converts a name or folder name such as ``1_math`` to lower snake case.

    The number before a folder's name is removed.
    """
    return _word(str(value))


@lru_cache(maxsize=1024)
def _word(name: str) -> str:
    snake = re.sub(r"[ \-]+", "_", name.strip().lower())
    return re.sub(r"^\d+_", "", snake)


def field_of(name: object) -> str:
    """Finds the field for a name in the data or for the name of a folder.

    Returns an empty string for an unknown name.
    """
    field = word(name)
    field = _FIELD_ALIASES.get(field, field)
    return field if field in FIELDS else ""


def field_words(field: str) -> tuple[str, ...]:
    """Returns the spellings of a field in the data and in folder names."""
    aliases = [alias for alias, name in _FIELD_ALIASES.items() if name == field]
    return (field, *aliases)


def names_of(
    row: Mapping[str, Any], folders: Sequence[str], faults: list[str]
) -> FieldDomain:
    """Reads a record's field and domain from the record, or else from its folders."""
    value = row.get("domain") or (folders[0] if folders else "")
    field = field_of(value)
    if not field:
        faults.append(
            f"'domain' is {_shown(value)}; it must be one of {', '.join(FIELDS)}"
        )
    value = row.get("subdomain") or "".join(folders[1:2])
    domain = word(value)
    if not _DOMAIN.fullmatch(domain):
        faults.append(
            f"'subdomain' is {_shown(value)}; it must be a name such as "
            "'computer_science'"
        )
        domain = ""
    return FieldDomain(field, domain)


def number_of(row: Mapping[str, Any], faults: list[str]) -> str:
    """Returns the id of a record, or an empty string if it is missing."""
    number = row.get("id")
    text = ""
    if isinstance(number, str | int) and not isinstance(number, bool):
        text = str(number).strip()
    if not text:
        faults.append("'id' must be a word or a number")
    return text


def difficulty_of(row: Mapping[str, Any], faults: list[str]) -> str:
    level = row.get("difficulty_level")
    text = str(level).strip().lower()
    difficulty = DIFFICULTIES.get(text, text)
    if difficulty in DIFFICULTIES.values():
        return difficulty
    faults.append(
        f"'difficulty_level' is {_shown(level)}; it must be 1 (easy), 2 (medium) or 3 "
        "(hard)"
    )
    return ""


def capabilities_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the labels ``capabilities`` and ``capability_weights``.

    ``capabilities`` may be empty, and ``capability_weights`` may be missing. Known ids
    and names become the ids of the paper. Other names are unchanged. A capability with
    weight 0 is left out.
    """
    value: object = []
    for key in CAPABILITY_KEYS:
        value = value or row.get(key) or []
    if isinstance(value, dict):
        weights = {_capability(name): weight for name, weight in value.items()}
        are_valid = True
        for weight in weights.values():
            is_number = isinstance(weight, int | float)
            are_valid = are_valid and is_number and 0 <= weight <= _HEAVIEST
        if are_valid:
            chosen = {name: float(weights[name]) for name in weights if weights[name]}
            return {"capabilities": list(chosen), "capability_weights": chosen}
        value = list(value)
    items = value if isinstance(value, list) else [value]
    return {"capabilities": list(dict.fromkeys(map(_capability, items)))}


def _capability(item: object) -> str:
    name = str(item).strip()
    lowered = re.sub(r"[\s\-]+", "_", name.lower())
    number = _CAPABILITY.fullmatch(lowered)
    capability = f"C{number[1]}" if number else _CAPABILITY_IDS.get(lowered, "")
    return capability if capability in CAPABILITIES else name


def _shown(value: object) -> str:
    return repr(str(value)[:_SHOWN])
