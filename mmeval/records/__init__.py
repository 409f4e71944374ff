"""Records of samples, requests, responses, trials and scores, as typed JSON."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.records.digests import DIGEST_CHARS, content_digest, digest
    from mmeval.records.request import GenerationParams, ReplySchema, Request
    from mmeval.records.response import (
        HOPELESS,
        ErrorInfo,
        ErrorKind,
        FinishReason,
        Response,
        Trace,
        TraceStep,
        Usage,
        answered,
    )
    from mmeval.records.sample import Message, Sample, message, user
    from mmeval.records.score import CAUSES, NO_OPTION, Cause, Result, Score
    from mmeval.records.trial import Exchange, Trial
    from mmeval.records.turn import Turn

__all__ = [
    "CAUSES",
    "DIGEST_CHARS",
    "HOPELESS",
    "NO_OPTION",
    "Cause",
    "ErrorInfo",
    "ErrorKind",
    "Exchange",
    "FinishReason",
    "GenerationParams",
    "Message",
    "ReplySchema",
    "Request",
    "Response",
    "Result",
    "Sample",
    "Score",
    "Trace",
    "TraceStep",
    "Trial",
    "Turn",
    "Usage",
    "answered",
    "content_digest",
    "digest",
    "message",
    "user",
]

__getattr__, __dir__ = door(__name__)
