"""An agent for tests from outside: it plans, checks and mends, and draws its pictures
at the same time."""

from mmeval.backend import Tool
from mmeval.backend.agent import AgentAnswer, AgentProgram, agent
from mmeval.media import Interleaved
from mmeval.program import Reply, Role
from mmeval.records import Request, Response

PLUGINS = "[mmeval.model_backends]\nstoryteller = tests.support.agents:storyteller\n"


def not_d(response: Response) -> str:
    """A fault in a quarter of the replies of the mock server, whose second word is A,
    B, C or D."""
    return "it begins with D" if response.text.split()[2] == "D" else ""


@agent(takes=("text",), gives=("text", "image"), version="1")
def storyteller(
    request: Request,
    planner: Role,
    text_to_image: Tool | None = None,
    *,
    rounds: int = 3,
) -> AgentProgram:
    """A plan, which is checked and mended up to some rounds, and two pictures."""
    question = request.messages[-1].content.text
    plan: Reply = yield planner.ask(
        f"plan: {question}", title="plan", accept=not_d, example="mock 1 A 2"
    )
    checks: list[str] = []
    for turn in range(rounds):
        check: Reply = yield planner.ask(
            f"check {turn}: {plan.text}", title="check", example="mock 1 A 2"
        )
        checks.append(check.text.split()[2])
        if checks[-1] in "AB":
            break
        plan = yield planner.ask(
            f"mend {turn}: {plan.text}", title="mend", example="mock 1 A 2"
        )
    drawn: list[Reply] = []
    if text_to_image is not None:
        drawn = yield [
            text_to_image.call(f"{plan.text}, {at}", title=f"image{at}")
            for at in range(2)
        ]
    media = [medium for reply in drawn for medium in reply.require().media()]
    return AgentAnswer(
        Interleaved.from_reply(plan.require().text, media), {"checks": checks}
    )
