"""Finds the catalogues of released prompts of tasks and agents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from mmeval import plugins
from mmeval.backend.agent.contract import Agent, agent_named
from mmeval.task.file import TaskFile
from mmeval.task.index import TaskIndex
from mmeval.task.released.catalogue import catalogue_beside, catalogue_files
from mmeval.task.selection import choose


def chosen_by(
    names: Sequence[str], include_path: Sequence[Path]
) -> tuple[list[TaskFile], list[Agent]]:
    """Returns the tasks and the agents that names select.

    Raises UnknownNameError for a name that selects neither.
    """
    agents: list[Agent] = []
    task_names: list[str] = []
    backends = plugins.names("mmeval.model_backends")
    for name in names:
        agent = agent_named(name) if name in backends else None
        if agent is None:
            task_names.append(name)
        else:
            agents.append(agent)
    tasks: list[TaskFile] = []
    if task_names or not agents:
        tasks += choose(task_names, TaskIndex(include_path)).tasks.values()
    return tasks, agents


def catalogues_of(tasks: Iterable[TaskFile], agents: Iterable[Agent]) -> list[Path]:
    """Returns the catalogues next to tasks and agents, each once."""
    paths = dict.fromkeys(catalogue_files(tasks))
    for agent in agents:
        paths.update(dict.fromkeys(catalogue_beside(agent.folder)))
    return list(paths)
