"""The interface of model backends, and conversion of media for a model."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.backend.capabilities import Capabilities, Limit, OutputMode
    from mmeval.backend.contract import (
        BatchBackend,
        ModelBackend,
        ModelDiedError,
        Parallel,
        ProgramBackend,
        SampleBackend,
        Startable,
        TaskAhead,
        WholeAnswers,
    )
    from mmeval.backend.probe import Probe, ReplyFormat
    from mmeval.backend.routes import (
        ROUTES,
        TO_DESCRIBE,
        checked_routes,
        convert,
        even_frames,
        widened,
    )
    from mmeval.backend.tool import Tool, load_tool

__all__ = [
    "ROUTES",
    "TO_DESCRIBE",
    "BatchBackend",
    "Capabilities",
    "Limit",
    "ModelBackend",
    "ModelDiedError",
    "OutputMode",
    "Parallel",
    "Probe",
    "ProgramBackend",
    "ReplyFormat",
    "SampleBackend",
    "Startable",
    "TaskAhead",
    "Tool",
    "WholeAnswers",
    "checked_routes",
    "convert",
    "even_frames",
    "load_tool",
    "widened",
]

__getattr__, __dir__ = door(__name__)
