"""The format ``mme_unify``: answers in the result files of MME-Unify's own scripts."""

from __future__ import annotations

from mmeval.interchange import AnswerFormat
from mmeval.tasks.mme_unify.output.reading import read_output
from mmeval.tasks.mme_unify.output.writing import write_output

FORMAT = AnswerFormat(
    about="The result files of MME-Unify's own scripts, a question file with the "
    "answers in its rows.",
    read=read_output,
    write=write_output,
)
