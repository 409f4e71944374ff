"""Writes the tables, files and pages of a run, and passes the results of a finished run
to loggers."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.report.results_file import PublishedResults
    from mmeval.run.options import RunOutcome

__all__ = ["PublishedResults", "RunOutcome"]

__getattr__, __dir__ = door(__name__)
