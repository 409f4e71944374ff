"""The format ``unim``: answers in the layout of UniM's released scripts."""

from __future__ import annotations

from mmeval.interchange import AnswerFormat
from mmeval.tasks.unim.output.reading import read_output
from mmeval.tasks.unim.output.writing import write_output

FORMAT = AnswerFormat(
    about="The records of UniM's released scripts, with their media.",
    read=read_output,
    write=write_output,
)
