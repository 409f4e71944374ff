"""The format ``mmmg``: answers in the layout of MMMG's scripts."""

from __future__ import annotations

from mmeval.interchange import AnswerFormat
from mmeval.tasks.mmmg.output_reading import read_output
from mmeval.tasks.mmmg.output_writing import write_output

FORMAT = AnswerFormat(
    about="The folders output/<model> of MMMG's scripts.",
    read=read_output,
    write=write_output,
)
