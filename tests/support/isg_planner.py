"""A mock server that plays the roles of the agent of ISG-Bench, and follows the layouts
of the bundled rows."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.isg_agent import DRAWN, add, call, caption, plan
from tests.support.mock_openai_server import State, last_text

ROWS = [
    json.loads(line)
    for line in (
        Path(__file__).parents[2] / "tasks" / "isg" / "bundled" / "ISG-Bench.jsonl"
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
