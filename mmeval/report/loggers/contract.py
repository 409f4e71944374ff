"""The plugin contract of loggers, which send a run's results to a tracker."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import logging
import sys
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Protocol

from mmeval import plugins
from mmeval.errors import MissingExtraError, UsageError
from mmeval.report.results_file import PublishedResults
from mmeval.run.options import RunOutcome

_log = logging.getLogger(__name__)


class Logger(Protocol):
    """The plugin contract of ``mmeval.loggers``: a class that is created before a run
    starts. Its constructor receives the logger's arguments as keywords. The constructor
    raises MissingError or UsageError if something is missing or wrong."""

    def log(self, outcome: RunOutcome, published: PublishedResults) -> None:
        """Send the results to the tracker, once, after all files are written.
        An exception is logged as a warning."""
        ...


def create_loggers(arguments: Mapping[str, Mapping[str, Any]]) -> dict[str, Logger]:
    """Create the loggers of a run with their arguments, by plugin name.

    Raises UnknownNameError for an unknown name, MissingExtraError for a package that is
    not installed, and UsageError for arguments that the logger does not accept.
    """
    loggers: dict[str, Logger] = {}
    for name, args in arguments.items():
        factory = plugins.load("mmeval.loggers", name)
        try:
            inspect.signature(factory).bind(**args)
        except TypeError as error:
            raise UsageError(
                f"the logger {name!r} does not accept its arguments: {error}"
            ) from None
        loggers[name] = factory(**args)
    return loggers


def log_results(
    loggers: Mapping[str, Logger], outcome: RunOutcome, published: PublishedResults
) -> None:
    """Pass results to each logger. If a logger fails, only a warning is logged, because
    the files are already written."""
    for name, logger in loggers.items():
        try:
            # only the tables may be written to stdout
            with contextlib.redirect_stdout(sys.stderr):
                logger.log(outcome, published)
        # a plugin's logger may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            _log.warning(
                "the logger %r failed (%s: %s); the results are in %s",
                name,
                type(error).__name__,
                error,
                published.file,
            )


def need_package(package: str) -> None:
    """Raises MissingExtraError if a logger's package is missing. Imports nothing."""
    if importlib.util.find_spec(package) is None:
        raise MissingExtraError(package, "loggers")


def flat_numbers(outcome: RunOutcome) -> dict[str, float]:
    """Returns the known numbers, without those of slices. Each ``task/metric`` also has
    its ``_stderr`` and the trial counts ``_scored`` and ``_n``."""
    numbers: dict[str, float] = {}
    for result in (*outcome.results, *outcome.group_results):
        if result.slice:
            continue
        name = f"{result.task}/{result.metric}"
        if result.value is not None:
            numbers[name] = result.value
        if result.stderr is not None:
            numbers[f"{name}_stderr"] = result.stderr
        numbers[f"{name}_scored"] = result.scored
        numbers[f"{name}_n"] = result.n
    return numbers


def table_rows(outcome: RunOutcome) -> tuple[Sequence[str], list[list[Any]]]:
    """Returns all results as one table, including slices and groups. Unknown values are
    None."""
    columns = (
        "task",
        "slice",
        "metric",
        "value",
        "stderr",
        "scored",
        "failed",
        "unscored",
        "n",
        "higher_is_better",
    )
    values = attrgetter(*columns)
    results = (*outcome.results, *outcome.group_results)
    return columns, [list(values(result)) for result in results]


def described(published: PublishedResults) -> dict[str, Any]:
    """Returns the metadata that describe the numbers to a tracker: settings, versions,
    and configurations."""
    keys = ("config", "configs", "versions", "n-samples", "model_name")
    return {key: published.document[key] for key in keys}
