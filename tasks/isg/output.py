"""The format ``isg``: answers in the files of ISG-Bench's own scripts."""

from __future__ import annotations

from mmeval.interchange import AnswerFormat
from mmeval.tasks.isg.output_reading import read_output
from mmeval.tasks.isg.output_writing import write_output

FORMAT = AnswerFormat(
    about="The answer files of ISG-Bench's own scripts; of a scored run also their "
    "judge file.",
    read=read_output,
    write=write_output,
)
