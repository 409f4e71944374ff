"""Chooses the words of a task's prompts: own, released, or those of a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from mmeval.errors import MissingDataError
from mmeval.program.prompt_file import PromptFile, read_prompt_folder
from mmeval.task.file import TaskFile
from mmeval.task.released.cached import prompts_folder
from mmeval.task.released.catalogue import (
    Catalogue,
    catalogue_files,
    read_catalogue,
)
from mmeval.task.released.template import template_of
from mmeval.task.task import TaskOverrides

OWN_WORDS = "own"
OWN = ("", OWN_WORDS)
RELEASED = "released"
DATA = "data"
"""The id of a prompt that is the text of the data, because none was released."""


def chosen_prompts(
    file: TaskFile, overrides: TaskOverrides
) -> Mapping[str, PromptFile]:
    """Returns the prompts that replace those of a task, by name.

    The prompts of ``--judge_prompts`` replace those of ``--prompts``. Raises
    PromptError for a folder that cannot be used.
    """
    of_judges: dict[str, PromptFile] = {}
    if overrides.judge_prompts is not None:
        of_judges = read_prompt_folder(overrides.judge_prompts)
    if overrides.prompts == RELEASED:
        profile = overrides.profile or file.keys.profile
        return ReleasedPrompts(catalogue_files([file]), file.name, profile, of_judges)
    if overrides.prompts in OWN:
        return of_judges
    return prompt_folder(overrides.prompts) | of_judges


def prompt_folder(words: str) -> dict[str, PromptFile]:
    """Reads the folder that ``--prompts`` names. Raises PromptError."""
    prompts = read_prompt_folder(Path(words), "--prompts ")
    return {name: replace(prompt, is_of_user=True) for name, prompt in prompts.items()}


class ReleasedPrompts(Mapping[str, PromptFile]):
    """The prompts of catalogues by name, each read from the cache when it is used.

    ``of`` is the task or the agent that asks them. Prompts in ``given`` replace those
    of the catalogues. A prompt that is not in the cache raises MissingDataError.
    """

    def __init__(
        self,
        catalogues: Iterable[Path],
        of: str,
        profile: str = "",
        given: Mapping[str, PromptFile] = MappingProxyType({}),
    ) -> None:
        self._of = of
        self._profile = profile
        self._given = given
        self._catalogues: dict[str, Path] = {}
        for path in catalogues:
            for template in _catalogue(path, prompts_folder()).templates:
                self._catalogues[template.prompt] = path
        self._names = tuple(self._catalogues.keys() | given.keys())

    def __getitem__(self, name: str) -> PromptFile:
        if name in self._given:
            return self._given[name]
        path = self._catalogues[name]
        try:
            return _released_prompt(path, prompts_folder(), self._profile, name)
        except MissingDataError as error:
            how_to_fix = f"Run 'mmeval prepare {self._of} --prompts'."
            raise MissingDataError(
                error.cause, name=error.name, how_to_fix=how_to_fix
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@lru_cache(maxsize=512)
def _released_prompt(path: Path, cache: Path, profile: str, name: str) -> PromptFile:
    """Returns a prompt of a catalogue, which all metrics of its tasks share.

    Released files do not change during a run. An error is not cached.
    """
    catalogue = _catalogue(path, cache)
    templates = {template.prompt: template for template in catalogue.templates}
    keys = templates[name].in_profile(profile)
    call = keys.call.model_dump(exclude_none=True)
    if keys.call.then is not None:
        following = _released_prompt(path, cache, profile, keys.call.then)
        call["then"] = following.to_json()
    return PromptFile(
        keys.prompt,
        template_of(keys, catalogue),
        released=" + ".join(keys.all_ids) or DATA,
        texts=tuple(map(catalogue.origin, keys.all_ids)),
        assembled=keys.assembled,
        released_call=call,
    )


@lru_cache(maxsize=32)
def _catalogue(path: Path, _cache: Path) -> Catalogue:
    return read_catalogue(path)
