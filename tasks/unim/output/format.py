"""The format ``unim``: answers as UniM's released scripts read them."""

from __future__ import annotations

from mmeval.interchange import AnswerFormat
from mmeval.tasks.unim.output.reading import read_output
from mmeval.tasks.unim.output.writing import write_output

FORMAT = AnswerFormat(
    about="Records of UniM's released scripts, with their media.",
    read=read_output,
    write=write_output,
)
