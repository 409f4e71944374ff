"""Drives an agent of ours on given replies, as `mmeval try agent` does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.authoring.agent_bench import agent_called, drive, read_agent_case, result_of
from mmeval.media import Media, PartKind, text_part
from mmeval.program.calls import Call, Reply, followed
from mmeval.records import GenerationParams, Request, Response, answered, user


def driven(
    name: str, replies: Mapping[str, Any], folder: Path = Path(), **case: Any
) -> dict[str, Any]:
    """The result of a case."""
    agent = agent_called(name)
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
    agent, calls, left = agent_called(name), list[Call](), iter(planner)
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

    followed(
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
