"""Drives an agent of ours on given replies, as `mmeval agent` does."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmeval.authoring.agent_bench import agent_called, drive, read_agent_case, result_of


def driven(name: str, replies: Mapping[str, Any], folder: Path = Path(), **case: Any) -> dict[str, Any]:
    """The result of a case."""
    agent = agent_called(name)
    return result_of(drive(agent, name, read_agent_case({"replies": replies, **case}), folder))


def titles(result: Mapping[str, Any]) -> list[str]:
    return [step["title"] for step in result["steps"]]


def kinds(result: Mapping[str, Any]) -> list[str]:
    """The kinds of part that an answer has beside text; those without content in brackets."""
    parts = [part for part in result["parts"] if part["type"] != "text"]
    return [part["type"] if "media" in part or "text" in part else f"({part['type']})" for part in parts]
