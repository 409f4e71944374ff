"""The prompt of ISG-Bench: the query, optionally with the golden answer's structure."""

from __future__ import annotations

from typing import Annotated, Literal

from mmeval.media import Interleaved
from mmeval.metrics.judged.isg.rows import tokens_between
from mmeval.program import FromReference
from mmeval.records import Message, Sample, user

Structure = Annotated[Literal["none", "golden"], FromReference(("golden",))]


def prompt(sample: Sample, *, structure: Structure = "none") -> tuple[Message, ...]:
    """Returns the query.

    With ``structure: golden`` the golden answer's blocks are added.
    """
    if structure == "none":
        return sample.input
    tokens = " ".join(tokens_between(Interleaved(), sample.references[0]))
    query = [part for message in sample.input for part in message.content.parts]
    return (user(*query, f"\n\nThe answer has these blocks, in this order: {tokens}"),)
