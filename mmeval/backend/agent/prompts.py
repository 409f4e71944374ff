"""The prompts of an agent: the files in the folder ``prompts`` next to its module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.errors import UnknownNameError
from mmeval.program.prompt_file import PromptFile, read_prompt_folder
from mmeval.records.digests import digest
from mmeval.records.sample import Message

if TYPE_CHECKING:  # Jinja is slow to import
    from mmeval.program.template import Value

ALWAYS = ("mark",)
"""The values that every prompt may use."""


class Prompts:
    """The prompts of an agent by file name, without the suffix."""

    def __init__(self, files: Mapping[str, PromptFile]) -> None:
        self._files = dict(files)

    @property
    def digest(self) -> str:
        """The digest of the texts of all prompts. It does not depend on their paths."""
        return digest({name: file.sha256 for name, file in self._files.items()})

    @property
    def released(self) -> dict[str, str]:
        """The ids of the released texts of each prompt that is in released words."""
        ids: dict[str, str] = {}
        for name, file in self._files.items():
            if file.released:
                ids[name] = file.released
        return ids

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._files)

    def records(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """Returns the records of prompts without their texts, in the order of their
        names.

        Raises KeyError for an unknown name.
        """
        records: list[dict[str, Any]] = []
        for name in sorted(names):
            record = self._files[name].to_json()
            del record["text"]
            records.append(record)
        return records

    def messages(self, name: str, /, **values: Value) -> tuple[Message, ...]:
        """Returns the messages of a prompt, filled with these values. Values may
        contain media.

        Raises UnknownNameError for an unknown prompt, and PromptError for a prompt that
        cannot be rendered.
        """
        if name not in self._files:
            raise UnknownNameError("prompt", name, self._files)
        return self._files[name].messages(values)


def find_prompts(home: Path, given: str | Mapping[str, Any] = "") -> Prompts:
    """Reads the prompts in ``home``.

    ``given`` is a folder of the user whose files replace those of the same name, or
    such prompts as ``{name: {name, text}}``.

    Raises UnknownNameError for a given prompt that replaces no prompt. Raises
    PromptError for a prompt that uses values that the replaced prompt does not use. A
    released text may use the other values of its step, too.
    """
    defaults = read_prompt_folder(home) if home.is_dir() else {}
    replacements: dict[str, PromptFile] = {}
    if isinstance(given, Mapping):
        for name, record in given.items():
            replacements[name] = PromptFile.of(record)
    elif given:
        replacements = read_prompt_folder(Path(given), "prompts=")
    for name, file in replacements.items():
        if name not in defaults:
            raise UnknownNameError(
                "prompt",
                name,
                defaults,
                f"The agent's prompts are: {', '.join(defaults) or 'none'}.",
            )
        if not file.released:
            file.check((*defaults[name].reads, *ALWAYS), form=False)
    return Prompts({**defaults, **replacements})
