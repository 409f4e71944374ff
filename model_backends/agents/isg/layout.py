"""Determines the order of an answer's blocks.

The planner finds the order, or the task's prompt states it.
"""

from __future__ import annotations

import json
import re

from mmeval.media import Interleaved, Part
from mmeval.model_backends.agents.isg.context import AgentContext
from mmeval.program import Program, ask_one

_TOKEN = r"<gen_(?:text|img)\d{1,4}>"
_TOKENS = re.compile(rf"{_TOKEN}(?:[\s,\"']*{_TOKEN})*")


def found_layout(context: AgentContext) -> Program[tuple[str, ...]]:
    """Requests the blocks that the task requires.

    The request is the first stage of ISG-Bench's question generation.
    """
    # Imported here, so that listing the agent does not import a metric.
    from mmeval.metrics.judged.isg.rows import tokens_between
    from mmeval.tasks.isg.graph.protocol import named_blocks
    from mmeval.tasks.isg.graph.stages import Structure, read_structure

    parts: list[Part] = []
    for message in context.request.messages:
        parts += message.content.parts
    query = tokens_between(Interleaved(tuple(parts)), None)
    example_structure = Structure(tuple(query), ("<gen_text1>", "<gen_img1>"))
    example = json.dumps(example_structure.written)
    reply = yield from ask_one(
        context.call(
            "structure", read=read_structure, example=example, query=named_blocks(query)
        )
    )
    problem = reply.problem()
    if problem:
        context.warnings.append(f"the plan has no structure: {problem}")
        return ()
    return read_structure(reply.text).answer


def stated_layout(context: AgentContext) -> tuple[str, ...]:
    """Returns the last sequence of blocks in the task's prompt."""
    matches = _TOKENS.findall(context.task)
    if not matches:
        context.warnings.append(
            "the plan has no structure: the task's prompt does not state one"
        )
        return ()
    return tuple(re.findall(_TOKEN, matches[-1]))
