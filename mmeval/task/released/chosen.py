"""Chooses the words of a task's prompts: own, released, or those of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from mmeval.program.prompt_file import PromptFile, read_prompt_folder
from mmeval.task.file import TaskFile
from mmeval.task.released.cached import prompts_folder
from mmeval.task.released.catalogue import catalogue_files, read_catalogue
from mmeval.task.released.template import template_of
from mmeval.task.task import TaskOverrides

OWN = ("", "own")
RELEASED = "released"


def chosen_prompts(file: TaskFile, overrides: TaskOverrides) -> dict[str, PromptFile]:
    """Returns the prompts that replace those of a task, by name.

    The prompts of ``--judge_prompts`` replace those of ``--prompts``. Raises
    MissingDataError for a released prompt that is not in the cache.
    """
    prompts: dict[str, PromptFile] = {}
    if overrides.prompts == RELEASED:
        prompts = _released_prompts(file, overrides.profile or file.keys.profile)
    elif overrides.prompts not in OWN:
        prompts = prompt_folder(overrides.prompts)
    if overrides.judge_prompts is not None:
        prompts |= read_prompt_folder(overrides.judge_prompts)
    return prompts


def prompt_folder(words: str) -> dict[str, PromptFile]:
    """Reads the folder that ``--prompts`` names. Raises PromptError."""
    return read_prompt_folder(Path(words), "--prompts ")


def without_released_texts(record: Any) -> Any:
    """Returns a JSON record whose released prompts have ids and digests only.

    Without a licence, these texts may not leave the run folder.
    """
    if isinstance(record, dict):
        items = dict(record)
        if "released" in items:
            items.pop("text", None)
        return {name: without_released_texts(item) for name, item in items.items()}
    if isinstance(record, list):
        return [without_released_texts(item) for item in record]
    return record


def _released_prompts(file: TaskFile, profile: str) -> dict[str, PromptFile]:
    prompts: dict[str, PromptFile] = {}
    for path in catalogue_files([file]):
        prompts |= _prompts_of(path, profile, prompts_folder())
    return prompts


@lru_cache(maxsize=32)
def _prompts_of(path: Path, profile: str, _cache: Path) -> Mapping[str, PromptFile]:
    """Returns the prompts of a catalogue, which all metrics of its tasks share.

    Released files do not change during a run. An error is not cached.
    """
    catalogue = read_catalogue(path)
    prompts: dict[str, PromptFile] = {}
    for template in catalogue.templates:
        keys = template.in_profile(profile)
        text = template_of(keys, catalogue)
        ids = " + ".join(keys.all_ids)
        call = keys.call.model_dump(exclude_none=True)
        if keys.call.then is not None:
            # a catalogue lists the prompt of the next call first
            call["then"] = prompts[keys.call.then].to_json()
        prompts[keys.prompt] = PromptFile(
            keys.prompt, text, released=ids, released_call=call
        )
    return prompts
