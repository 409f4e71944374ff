"""Judges: reply forms, questions and verdicts."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.metric.judge.form import (
        MAX_TEXT_CHARS,
        NOT_SURE,
        Choice,
        Field,
        Number,
        ReplyForm,
        Text,
        Vote,
        YesNo,
    )
    from mmeval.metric.judge.json_reply import (
        MAX_CHARS,
        ReplyError,
        accepts,
        read_object,
        read_objects,
        strict_json,
    )
    from mmeval.metric.judge.question_graph import (
        AnsweredGraph,
        Dependencies,
        GraphQuestion,
        GraphVerdict,
        ask_graph,
    )
    from mmeval.metric.judge.verdict import (
        UNREAD,
        Combine,
        Question,
        Repeats,
        Verdict,
        ask_verdicts,
        combined,
        shown,
    )

__all__ = [
    "MAX_CHARS",
    "MAX_TEXT_CHARS",
    "NOT_SURE",
    "UNREAD",
    "AnsweredGraph",
    "Choice",
    "Combine",
    "Dependencies",
    "Field",
    "GraphQuestion",
    "GraphVerdict",
    "Number",
    "Question",
    "Repeats",
    "ReplyError",
    "ReplyForm",
    "Text",
    "Verdict",
    "Vote",
    "YesNo",
    "accepts",
    "ask_graph",
    "ask_verdicts",
    "combined",
    "read_object",
    "read_objects",
    "shown",
    "strict_json",
]

__getattr__, __dir__ = door(__name__)
