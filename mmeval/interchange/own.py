"""The format ``mmeval``: answers of run folders and samples files.

A folder with ``run.json`` is a run. In any other folder, the newest
``samples_<task>_<time>.jsonl`` of each task is read. A path may also name one of these
files directly. The media of an answer are in ``media/`` next to these files or at the
recorded path, and must have the recorded bytes.
"""

from __future__ import annotations

from pathlib import Path

from mmeval.interchange.contract import AnswerFormat, AnswerSource
from mmeval.interchange.run_answers import RunAnswers
from mmeval.interchange.samples_answers import SamplesAnswers
from mmeval.results.stored_run import run_folder


def read_own(path: Path) -> AnswerSource:
    """Opens the answers of a run or of samples files.

    Raises MissingDataError if there are none, and UsageError if they are damaged.
    """
    if path.is_file():
        return SamplesAnswers([path])
    files = list(path.glob("samples_*.jsonl"))
    if files and not (path / "run.json").is_file():
        return SamplesAnswers(files)
    return RunAnswers(run_folder(path))


FORMAT = AnswerFormat(
    about="Run folders of mmeval, and the samples files that --log_samples writes.",
    read=read_own,
    unwritten="a run folder already has this format; copy it",
)
