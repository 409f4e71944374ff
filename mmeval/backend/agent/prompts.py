"""The prompts of an agent: the files of the folder ``prompts`` beside its module."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mmeval.errors import UnknownNameError
from mmeval.program.prompt_file import PromptFile, read_prompt_folder
from mmeval.records.digests import digest
from mmeval.records.sample import Message

if TYPE_CHECKING:  # Jinja is slow to import
    from mmeval.program.template import Value

ALWAYS = ("mark",)
"""The values that every prompt may read."""


class Prompts:
    """The prompts of an agent, by the names of their files without the ending."""

    def __init__(self, files: Mapping[str, PromptFile]) -> None:
        self._files = dict(files)

    @property
    def digest(self) -> str:
        """Of the words of all prompts; where the files lie does not matter."""
        return digest({name: file.sha256 for name, file in self._files.items()})

    def messages(self, name: str, /, **values: Value) -> tuple[Message, ...]:
        """The messages of a prompt with the values in their places, media and all.

        Raises UnknownNameError for a prompt that is not there, PromptError for one that
        cannot be rendered.
        """
        if name not in self._files:
            raise UnknownNameError("prompt", name, self._files)
        return self._files[name].messages(values)


def find_prompts(home: Path, folder: str = "") -> Prompts:
    """The prompts in ``home``, with those of the user's ``folder`` in place of ours of
    the same name.

    Raises UnknownNameError for a file in ``folder`` without one of ours, PromptError
    for one that cannot be used, as it reads what ours does not.
    """
    own = read_prompt_folder(home) if home.is_dir() else {}
    given = read_prompt_folder(Path(folder), "prompts=") if folder else {}
    for name, file in given.items():
        if name not in own:
            raise UnknownNameError(
                "prompt", name, own, f"The agent has {', '.join(own) or 'none'}."
            )
        file.check((*own[name].reads, *ALWAYS), form=False)
    return Prompts({**own, **given})
