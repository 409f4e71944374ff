"""Agents: how they are defined, which roles they call, and how their programs run."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.backend.agent.answer import AgentAnswer, AgentProgram
    from mmeval.backend.agent.contract import Agent, agent
    from mmeval.backend.agent.prompts import Prompts
    from mmeval.backend.agent.rounds import Rounds, in_rounds, rounds_of

__all__ = [
    "Agent",
    "AgentAnswer",
    "AgentProgram",
    "Prompts",
    "Rounds",
    "agent",
    "in_rounds",
    "rounds_of",
]

__getattr__, __dir__ = door(__name__)
