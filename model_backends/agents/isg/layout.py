"""The blocks of an answer in their order: found by the planner, or stated by the task's
prompt."""

from __future__ import annotations

import json
import re

from mmeval.media import Interleaved, Part
from mmeval.model_backends.agents.isg.context import AgentContext
from mmeval.program import Program, ask_one

_TOKEN = r"<gen_(?:text|img)\d{1,4}>"
_TOKENS = re.compile(rf"{_TOKEN}(?:[\s,\"']*{_TOKEN})*")


def found_layout(context: AgentContext) -> Program[tuple[str, ...]]:
    """The blocks that the task asks for, as the first stage of ISG-Bench's question
    generation finds them."""
    # listing the agent imports no metric
    from mmeval.metrics.judged.isg.rows import tokens_between
    from mmeval.tasks.isg.graph.protocol import named_blocks
    from mmeval.tasks.isg.graph.stages import Structure, read_structure

    asked: list[Part] = []
    for message in context.request.messages:
        asked += message.content.parts
    query = tokens_between(Interleaved(tuple(asked)), None)
    usual = Structure(tuple(query), ("<gen_text1>", "<gen_img1>"))
    example = json.dumps(usual.written)
    reply = yield from ask_one(
        context.call(
            "structure", read=read_structure, example=example, query=named_blocks(query)
        )
    )
    what = reply.problem()
    if what:
        context.warnings.append(f"the plan is made without a structure: {what}")
        return ()
    return read_structure(reply.text).answer


def stated_layout(context: AgentContext) -> tuple[str, ...]:
    """The last blocks in a row that the task's prompt names."""
    found = _TOKENS.findall(context.task)
    if not found:
        context.warnings.append(
            "the plan is made without a structure: the prompt of the task states none"
        )
        return ()
    return tuple(re.findall(_TOKEN, found[-1]))
