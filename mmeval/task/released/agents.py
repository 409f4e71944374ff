"""Chooses the words of an agent's prompts: own, released, or those of a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mmeval import plugins
from mmeval.backend.agent.contract import Agent, agent_named
from mmeval.program.prompt_file import PromptFile
from mmeval.task.index import TaskIndex
from mmeval.task.released.catalogue import (
    catalogue_beside,
    catalogue_files,
    read_catalogue,
)
from mmeval.task.released.chosen import (
    OWN,
    RELEASED,
    prompt_folder,
    released_prompts,
)
from mmeval.task.selection import choose


def released_catalogues(
    names: Sequence[str], include_path: Sequence[Path]
) -> list[Path]:
    """Returns the catalogues of tasks and agents, each once.

    Raises UnknownNameError for a name that selects neither.
    """
    agents, tasks = split_agents(names)
    paths: dict[Path, None] = {}
    if tasks or not agents:
        chosen = choose(tasks, TaskIndex(include_path))
        paths.update(dict.fromkeys(catalogue_files(chosen.tasks.values())))
    for agent in agents:
        paths.update(dict.fromkeys(catalogue_beside(agent.folder)))
    return list(paths)


def split_agents(names: Iterable[str]) -> tuple[list[Agent], list[str]]:
    """Returns the agents among names, and the names of anything else."""
    agents: list[Agent] = []
    others: list[str] = []
    backends = plugins.names("mmeval.model_backends")
    for name in names:
        agent = agent_named(name) if name in backends else None
        if agent is None:
            others.append(name)
        else:
            agents.append(agent)
    return agents, others


def agent_prompts(agent: Agent, words: str) -> dict[str, PromptFile]:
    """Returns the prompts that replace those of an agent, by name.

    ``words`` are those of ``--prompts``. Prompts of the agent that no author released
    are not replaced. Raises MissingDataError for a released prompt that is not in the
    cache.
    """
    names = agent.prompt_names
    prompts: dict[str, PromptFile] = {}
    if words == RELEASED:
        for path in catalogue_beside(agent.folder):
            prompts |= released_prompts(path, agent.name, names)
    elif words not in OWN:
        prompts |= prompt_folder(words)
    return {name: prompt for name, prompt in prompts.items() if name in names}


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
