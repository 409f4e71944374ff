"""Agents of ours on given replies, and scripted plans for the agent of ISG-Bench."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.authoring.agent_bench import drive, load_agent, read_agent_case, result_of
from mmeval.media import Media, PartKind, text_part
from mmeval.program.calls import Call, Reply, run_program
from mmeval.records import GenerationParams, Request, Response, answered, user

# Drives an agent of ours on given replies, as `mmeval try agent` does.


def driven(
    name: str, replies: Mapping[str, Any], folder: Path = Path(), **case: Any
) -> dict[str, Any]:
    """The result of a case."""
    agent = load_agent(name)
    return result_of(
        drive(agent, name, read_agent_case({"replies": replies, **case}), folder)
    )


def calls_of(
    name: str,
    params: GenerationParams,
    wants: Sequence[PartKind],
    *planner: str,
    media: Sequence[Media] = (),
) -> list[Call]:
    """What an agent asks for a request with these parameters; its planner replies, and
    everything else fails."""
    agent, calls, left = load_agent(name), list[Call](), iter(planner)
    backend = agent()
    backend.cast(agent.signature.roles.keys() - {"receiver", "detector"})

    def answer(call: Call, path: str) -> Reply:
        calls.append(call)
        said = call.role == "planner"
        return Reply(
            answered([text_part(next(left))])
            if said
            else Response.failed("timeout", "too slow"),
            path,
        )

    run_program(
        backend.program(Request((user("Draw.", *media),), params, tuple(wants))), answer
    )
    return calls


def titles(result: Mapping[str, Any]) -> list[str]:
    return [step["title"] for step in result["steps"]]


def kinds(result: Mapping[str, Any]) -> list[str]:
    """The kinds of part that an answer has beside text; those without content in
    brackets."""
    parts = [part for part in result["parts"] if part["type"] != "text"]
    return [
        part["type"] if "media" in part or "text" in part else f"({part['type']})"
        for part in parts
    ]


# Drives the agent of ISG-Bench on scripted plans, whose pictures are small ones.

Step = Mapping[str, Any]
TEXTS = [f"text {number}" for number in range(40)]
SMALL_TASK = "Show a hare, and say what it does."


def call(text: str, *images: str) -> Step:
    return {"Task": "Call_tool", "Input_text": text, "Input_images": images}


def caption(*images: str) -> Step:
    return {
        "Task": "Caption",
        "Input_text": "Say what can be seen.",
        "Input_images": images,
    }


def add(*images: str) -> Step:
    return {"Task": "AddImage", "Input_images": images}


def select(tool: str, **arguments: Any) -> str:
    return json.dumps({"tool": tool, "arguments": arguments or {"prompt": "a hare"}})


DRAW, EDIT = call("Use ImageGeneration tool: a hare"), "Use ImageEdit tool: at night"
DRAWN, EDITED = select("ImageGeneration"), select("ImageEdit", prompt="at night")
GOOD = [DRAW, caption("<GEN_0>"), add("<GEN_0>")]
BAD = [*GOOD, {"Task": "Draw"}]
OFFICIAL: dict[str, Any] = {"profile": "official"}
MARK = "<boi><eoi>"


def plan(*steps: Step) -> str:
    return json.dumps(steps)


def ask(
    *plans: str | Sequence[Step] | Mapping[str, str],
    selected: Sequence[Any] = (DRAWN,) * 40,
    texts: Sequence[Any] = TEXTS,
    folder: Path = Path(),
    files: Sequence[str] = (),
    prompt: Any = SMALL_TASK,
    roles: Mapping[str, Any] | None = None,
    **args: Any,
) -> dict[str, Any]:
    """The result on a first plan and those of the refiner; without a structure and
    without smoothing by default."""
    first, *others = [
        one if isinstance(one, str | dict) else plan(*one) for one in plans
    ]
    replies = {
        "planner": [first] * 3,
        "tool_selector": [*selected],
        "captioner": [*texts],
        "refiner": others,
        **(roles or {}),
    }
    usual = {"structure": "none", "smooth": False}
    return driven(
        "isg_agent",
        replies,
        folder,
        prompt=prompt,
        files=[*files],
        args={**usual, **args},
    )


def blocks(result: Mapping[str, Any]) -> list[str]:
    """The texts of an answer, and ``image`` for each picture."""
    return [part.get("text", part["type"]) for part in result["parts"] or ()]


def problems(result: Mapping[str, Any]) -> list[tuple[int, int]]:
    """The rounds and steps of all problems."""
    return [(row["round"], row["step"]) for row in result["evidence"]["log"]]
