"""The format ``ueval``: answers in the files of UEval's own scripts."""

from __future__ import annotations

from mmeval.interchange import AnswerFormat
from mmeval.tasks.ueval.output_reading import read_output
from mmeval.tasks.ueval.output_writing import write_output

FORMAT = AnswerFormat(
    about="The answer files of UEval's own scripts; of a scored run also their "
    "results.json.",
    read=read_output,
    write=write_output,
)
