"""Agents for tests that kill: one from outside, one of ISG-Bench on a scripted server, and
runs that are killed again and again beside one that is not."""

import json
import random
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mmeval.backend import Tool
from mmeval.backend.agent import AgentAnswer, AgentProgram, agent
from mmeval.media import Interleaved
from mmeval.program import Reply, Role
from mmeval.records import Request, Response
from tests.soak.kills.test_crash import killed_once
from tests.support.agents import DRAWN, add, call, caption, plan
from tests.support.cli import environment, mmeval_process, run_folder
from tests.support.mock_openai_server import MockServer, Settings, State, last_text

# An agent for tests from outside: it plans, checks and mends, and draws its pictures
# at the same time.

PLUGINS = (
    "[mmeval.model_backends]\nstoryteller = tests.soak.support.agents:storyteller\n"
)


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


# A mock server that plays the roles of the agent of ISG-Bench, and follows the
# layouts of the bundled rows.

ROWS = [
    json.loads(line)
    for line in (
        Path(__file__).parents[3] / "tasks" / "isg" / "bundled" / "ISG-Bench.jsonl"
    )
    .read_text()
    .splitlines()
]
_STATED = re.compile(r"structure of the answer begins\n(.*)\n")
_ANSWER = re.compile(r"answer begins\n(.*?)\n\w+ answer ends", re.DOTALL)


def structure_of(words: str) -> str:
    """The structure of the row whose query stands in a prompt."""
    texts = {
        row["id"]: [
            block["content"] for block in row["Query"] if block["type"] == "text"
        ]
        for row in ROWS
    }
    row = next(row for row in ROWS if all(text in words for text in texts[row["id"]]))
    return json.dumps(row["predict"].get("structure") or row["predict"]["structural"])


def plan_for(tokens: list[str], about: str, label: str = "") -> str:
    """A plan for an answer of these blocks, in words of its own; with a ``label`` that
    is none a last step has it."""
    steps: list[Mapping[str, Any]] = []
    made = 0
    for token in tokens:
        if "_text" in token:
            steps.append({**caption(), "Input_text": f"Write of {about}."})
        else:
            steps += [
                call(f"Use ImageGeneration tool: {token} of {about}"),
                add(f"<GEN_{made}>"),
            ]
            made += 1
    return plan(*steps, *([{"Task": label}] if label else []))


class FollowingState(State):
    """Every plan is sound."""

    def __init__(self, settings: Any) -> None:
        State.__init__(self, settings)

    def message(self, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        number, words = int(key, 16), last_text(body)
        if "The blocks of the task" in words:
            said = structure_of(words)
        elif "three labels" in words or "failed plan begins" in words:
            (stated,) = _STATED.findall(words)
            said = plan_for(
                stated.split(),
                key,
                self.label(number, again="failed plan begins" in words),
            )
        elif "The step comes with" in words:
            said = DRAWN.replace("a hare", f"a hare, {key}")
        elif "the answer stands for a picture" in words:
            (answer,) = _ANSWER.findall(words)
            said = self.smoothed(answer, number)
        else:
            said = f"It is {key}."
        found: dict[str, Any] = State.message(self, {**body, "messages": []}, key)
        return {**found, "content": said}

    def label(self, number: int, *, again: bool) -> str:
        return ""

    def smoothed(self, answer: str, number: int) -> str:
        return f"Result: {answer.replace('It is', f'{number} is')}"


class StumblingState(FollowingState):
    """Half of the first plans, and a third of the others, have a problem; some smoothed
    answers lack a picture."""

    def label(self, number: int, *, again: bool) -> str:
        return "Check" if number % (3 if again else 2) == 0 else ""

    def smoothed(self, answer: str, number: int) -> str:
        whole = FollowingState.smoothed(self, answer, number)
        return whole.replace("<boi><eoi>", "", number % 3 == 0)


# Runs of an agent that are killed again and again, beside one that is not.

Command = Callable[[Path, str, str], Sequence[str]]
"""The command of a run: its folder, the server's address, the run's name."""


def kill_and_go_on(
    folder: Path, agent: str, state: type[State], command: Command, kills: int
) -> tuple[dict[str, int], dict[str, int]]:
    """Run once without a kill and once with so many; the server's counters of both."""
    draw = random.Random(25)
    with MockServer(latency=0.01) as server:
        server.state = state(Settings(latency=0.01))
        whole = mmeval_process(*command(folder, server.url, "whole"), env=environment())
        once = server.stats()
        server.state.reset()
        died = []
        for _ in range(kills):
            wanted = server.stats()["answered"] + draw.randint(
                1, max(1, once["answered"] // (kills + 4))
            )
            output = run_folder(folder, agent, "killed")
            words = list(command(folder, server.url, "killed"))
            died.append(
                killed_once(
                    partial(has_answered, server, wanted), words, server, output
                )
            )
        last = mmeval_process(*command(folder, server.url, "killed"), env=environment())
        stats = server.stats()
    assert (whole.code, died, last.code) == (0, [-signal.SIGKILL] * kills, 0), (
        whole.err + last.err
    )
    return once, stats


def has_answered(server: MockServer, wanted: int) -> bool:
    answered: int = server.stats()["answered"]
    return answered >= wanted


def told(folder: Path, agent: str, name: str) -> dict[str, Any]:
    """The answers of a run and how they came about, but for the time that it took and
    the folder of its media."""
    found = {}
    for file in sorted(run_folder(folder, agent, name).glob("samples_*.jsonl")):
        for row in map(json.loads, file.read_text().splitlines()):
            for step in (
                step
                for repeat in row["trace"]
                for trace in repeat
                for step in trace["steps"]
            ):
                del step["seconds"]
            found[row["doc"]["id"]] = [
                row[key] for key in ("resps", "error", "trace", "usage")
            ]
    return found
