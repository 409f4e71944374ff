"""Handles processes, threads, files, text of messages, switches and optional
packages."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.system.arguments import (
        AboveZero,
        Condition,
        OneOrMore,
        OptionalShare,
        PathOrName,
        Share,
        ZeroOrMore,
        regex_fault,
    )
    from mmeval.system.child_program import ChildProgram, empty_folder
    from mmeval.system.extras import need
    from mmeval.system.folders import own_cache, write_atomic
    from mmeval.system.json_lines import from_line, to_line
    from mmeval.system.plain_file import open_plain
    from mmeval.system.processes import FreshContext, ending, last_lines
    from mmeval.system.threads import OwnThread

__all__ = [
    "AboveZero",
    "ChildProgram",
    "Condition",
    "FreshContext",
    "OneOrMore",
    "OptionalShare",
    "OwnThread",
    "PathOrName",
    "Share",
    "ZeroOrMore",
    "empty_folder",
    "ending",
    "from_line",
    "last_lines",
    "need",
    "open_plain",
    "own_cache",
    "regex_fault",
    "to_line",
    "write_atomic",
]

__getattr__, __dir__ = door(__name__)
