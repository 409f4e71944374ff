"""Chooses the words of an agent's prompts: own, released, or those of a folder."""

from __future__ import annotations

from collections.abc import Mapping

from mmeval.backend.agent.contract import Agent
from mmeval.program.prompt_file import PromptFile
from mmeval.task.released.catalogue import catalogue_beside, read_catalogue
from mmeval.task.released.chosen import (
    OWN,
    RELEASED,
    ReleasedPrompts,
    prompt_folder,
)


def agent_prompts(agent: Agent, words: str) -> dict[str, PromptFile]:
    """Returns the prompts that replace those of an agent, by name.

    ``words`` are those of ``--prompts``. Prompts of the agent that no author released
    are not replaced. Raises MissingDataError for a released prompt that is not in the
    cache.
    """
    names = agent.prompt_names
    if words == RELEASED:
        released = ReleasedPrompts(catalogue_beside(agent.folder), agent.name)
        return {name: released[name] for name in names & released.keys()}
    if words in OWN:
        return {}
    in_folder = prompt_folder(words)
    return {name: in_folder[name] for name in names & in_folder.keys()}


def replaceable_prompts(agent: Agent, words: str) -> frozenset[str]:
    """Returns the names of an agent's prompts that can be in these words.

    The cache is not read.
    """
    if words in OWN:
        return frozenset()
    if words != RELEASED:
        return agent.prompt_names
    names: set[str] = set()
    for path in catalogue_beside(agent.folder):
        for template in read_catalogue(path).templates:
            names.add(template.prompt)
    return agent.prompt_names.intersection(names)


def as_records(prompts: Mapping[str, PromptFile]) -> dict[str, dict[str, str]]:
    """Returns prompts as the argument ``prompts`` of an agent."""
    return {name: prompt.to_json() for name, prompt in prompts.items()}
