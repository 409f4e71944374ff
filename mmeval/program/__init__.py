"""Programs, which yield calls and receive replies, and their roles and prompts."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.program.calls import (
        Call,
        CallFailed,
        Program,
        Reply,
        Role,
        ask_all,
        ask_one,
    )
    from mmeval.program.prompt import FromReference, PromptError
    from mmeval.program.prompt_file import JudgePrompt, PromptFile, PromptValue
    from mmeval.program.protocols import Ask, join, single
    from mmeval.program.route import Route
    from mmeval.program.template import Value

__all__ = [
    "Ask",
    "Call",
    "CallFailed",
    "FromReference",
    "JudgePrompt",
    "Program",
    "PromptError",
    "PromptFile",
    "PromptValue",
    "Reply",
    "Role",
    "Route",
    "Value",
    "ask_all",
    "ask_one",
    "join",
    "single",
]

__getattr__, __dir__ = door(__name__)
