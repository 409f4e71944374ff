"""Chooses the words of a task's prompts: own, released, or those of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from mmeval.errors import MissingDataError
from mmeval.program.prompt_file import PromptFile, read_prompt_folder
from mmeval.task.file import TaskFile
from mmeval.task.released.cached import prompts_folder
from mmeval.task.released.catalogue import catalogue_files, read_catalogue
from mmeval.task.released.template import template_of
from mmeval.task.task import TaskOverrides

OWN_WORDS = "own"
OWN = ("", OWN_WORDS)
RELEASED = "released"
DATA = "data"
"""The id of a prompt that is the text of the data, because none was released."""


def chosen_prompts(file: TaskFile, overrides: TaskOverrides) -> dict[str, PromptFile]:
    """Returns the prompts that replace those of a task, by name.

    The prompts of ``--judge_prompts`` replace those of ``--prompts``. Raises
    MissingDataError for a released prompt that is not in the cache.
    """
    prompts: dict[str, PromptFile] = {}
    if overrides.prompts == RELEASED:
        profile = overrides.profile or file.keys.profile
        for path in catalogue_files([file]):
            prompts |= released_prompts(path, file.name, profile)
    elif overrides.prompts not in OWN:
        prompts = prompt_folder(overrides.prompts)
    if overrides.judge_prompts is not None:
        prompts |= read_prompt_folder(overrides.judge_prompts)
    return prompts


def prompt_folder(words: str) -> dict[str, PromptFile]:
    """Reads the folder that ``--prompts`` names. Raises PromptError."""
    return read_prompt_folder(Path(words), "--prompts ")


def released_prompts(
    path: Path, of: str, profile: str = "", names: frozenset[str] | None = None
) -> Mapping[str, PromptFile]:
    """Returns the prompts of a catalogue, or those with the given names.

    ``of`` is the task or the agent that asks them. Raises MissingDataError for a prompt
    that is not in the cache.
    """
    try:
        return _prompts_of(path, prompts_folder(), profile, names)
    except MissingDataError as error:
        how_to_fix = f"Run 'mmeval prepare {of} --prompts'."
        raise MissingDataError(
            error.cause, name=error.name, how_to_fix=how_to_fix
        ) from None


@lru_cache(maxsize=32)
def _prompts_of(
    path: Path, _cache: Path, profile: str, names: frozenset[str] | None
) -> Mapping[str, PromptFile]:
    """Returns the prompts of a catalogue, which all metrics of its tasks share.

    Released files do not change during a run. An error is not cached.
    """
    catalogue = read_catalogue(path)
    prompts: dict[str, PromptFile] = {}
    for template in catalogue.templates:
        if names is not None and template.prompt not in names:
            continue
        keys = template.in_profile(profile)
        call = keys.call.model_dump(exclude_none=True)
        if keys.call.then is not None:
            # a catalogue lists the prompt of the next call first
            call["then"] = prompts[keys.call.then].to_json()
        prompts[keys.prompt] = PromptFile(
            keys.prompt,
            template_of(keys, catalogue),
            released=" + ".join(keys.all_ids) or DATA,
            texts=tuple(map(catalogue.origin, keys.all_ids)),
            assembled=keys.assembled,
            released_call=call,
        )
    return prompts
