"""An agent that makes dependent calls, one for each message that it is asked."""

from mmeval.backend.agent import AgentProgram, agent
from mmeval.program import Reply, Role
from mmeval.records import Message, Request


@agent(takes=("text",), gives=("text",), version="1")
def chain(request: Request, planner: Role, *, history: bool = False) -> AgentProgram:
    """Asks the messages one after the other, alone or after those before."""
    asked: list[Message] = []
    for message in request.messages:
        asked = [*asked, message] if history else [message]
        reply: Reply = yield planner.send(asked)
        asked.append(Message("assistant", reply.require()))
    return reply.require()
