"""Finds the catalogues of released prompts of tasks and agents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from mmeval import plugins
from mmeval.backend.agent.contract import Agent, agent_named
from mmeval.task.index import TaskIndex
from mmeval.task.released.catalogue import catalogue_beside, catalogue_files
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
