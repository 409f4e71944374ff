"""Material: what a judge is shown of a trial, and how its prompts call it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mmeval.content import Interleaved, Part, text_part
from mmeval.judge import shown
from mmeval.records import Sample, Trial

if TYPE_CHECKING:
    from mmeval.template import Value

Material: TypeAlias = "dict[str, Value]"

NAMES = ("answer", "input", "references")
"""The values that every prompt of these metrics may read besides its own."""


def material(trial: Trial, *, show_input: bool, show_references: bool, media: bool) -> Material:
    """``answer``; ``input``, empty when it is not shown; ``references``, a list that is empty then.

    Without ``media`` each medium is a placeholder. Hidden reasoning is never shown.
    """
    references = [shown(one, media=media) for one in trial.sample.references] if show_references else []
    return {
        "answer": shown(trial.output, media=media),
        "input": shown(asked_of(trial.sample), media=media) if show_input else "",
        "references": references,
    }


def asked_of(sample: Sample) -> Interleaved:
    """What the sample asks: its user messages, in order, an empty line between them."""
    parts: list[Part] = []
    for message in sample.input:
        if message.role == "user":
            parts += [text_part("\n\n")] if parts else []
            parts += message.content.parts
    return Interleaved(tuple(parts))
