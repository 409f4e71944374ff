"""The prompt of ISG-Bench's rows: their query, with the structure of the golden answer
where that is asked for."""

from __future__ import annotations

from typing import Annotated, Literal

from mmeval.media import Interleaved
from mmeval.metrics.judged.isg.rows import tokens_between
from mmeval.program import FromReference
from mmeval.records import Message, Sample, user

Structure = Annotated[Literal["none", "golden"], FromReference(("golden",))]


def prompt(sample: Sample, *, structure: Structure = "none") -> tuple[Message, ...]:
    """The query; with ``structure: golden`` the blocks of the golden answer stand below
    it."""
    if structure == "none":
        return sample.input
    tokens = " ".join(tokens_between(Interleaved(), sample.references[0]))
    asked = [part for message in sample.input for part in message.content.parts]
    return (user(*asked, f"\n\nThe answer has these blocks, in this order: {tokens}"),)
