"""Whose words the prompts of a run are in, for its results, tables and page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mmeval.findings.finding import Finding
from mmeval.program.prompt_origin import without_text
from mmeval.system.wording import listed

MAX_NAMED = 5
_WHOSE = {
    "released": "in the authors' words",
    "user": "the user's",
    "own": "own",
}
_DIGEST_SHOWN = 12


def prompts_json(prompts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the prompts of a run by name, without their texts.

    Prompts of several tasks may have the same name. The digest follows the name of a
    prompt that differs from an earlier one.
    """
    rows: dict[str, Any] = {}
    for prompt in prompts:
        name = prompt["name"]
        row = without_text(prompt)
        if rows.setdefault(name, row)["sha256"] != row["sha256"]:
            rows[f"{name} {row['sha256'][:_DIGEST_SHOWN]}"] = row
    return rows


def names_by_words(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Returns the names of prompts by whose words they are in, released words first.

    ``rows`` are the prompts of a results file.
    """
    names: dict[str, list[str]] = {whose: [] for whose in _WHOSE}
    for name, row in rows.items():
        names[row["words"]].append(name)
    return names


def words_note(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the prompts by whose words they are in, or an empty string if no prompt
    is in the authors' words."""
    names = names_by_words(rows)
    if not names["released"]:
        return ""
    notes = []
    for whose, prompts in names.items():
        if prompts:
            notes.append(f"{_WHOSE[whose]}: {listed(prompts, MAX_NAMED)}")
    return f"prompts {'; '.join(notes)}"


def words_findings(
    prompts: Iterable[Mapping[str, Any]],
) -> Iterator[Finding]:
    """Yields a finding that names the prompts by whose words they are in, if any prompt
    is in the authors' words."""
    rows = prompts_json(prompts)
    note = words_note(rows)
    if note:
        yield Finding(
            "other_definition",
            count=len(names_by_words(rows)["released"]),
            of=len(rows),
            cause=note,
            severity="note",
        )


def released_share(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns how many prompts are in the authors' words, such as ``7 of 9``, or an
    empty string if none is."""
    released = names_by_words(rows)["released"]
    return f"{len(released)} of {len(rows)}" if released else ""
