"""The logger contract: what takes a run's results elsewhere, and how it may fail."""

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
    """The plugin contract of ``mmeval.loggers``: a class, called before a run asks. It
    gets the logger's arguments as keywords, and raises MissingError or UsageError for
    what it lacks."""

    def log(self, outcome: RunOutcome, published: PublishedResults) -> None:
        """Take the results elsewhere, once, after all files are written.
        Whatever it raises is a warning."""
        ...


def create_loggers(named: Mapping[str, Mapping[str, Any]]) -> dict[str, Logger]:
    """The loggers of a run, by plugin name, made with their arguments.

    Raises UnknownNameError for a name, MissingExtraError for a package that is not
    installed, UsageError for arguments that the logger does not take.
    """
    made: dict[str, Logger] = {}
    for name, args in named.items():
        factory = plugins.load("mmeval.loggers", name)
        try:
            inspect.signature(factory).bind(**args)
        except TypeError as error:
            raise UsageError(f"the logger {name!r}: {error}") from None
        made[name] = factory(**args)
    return made


def log_results(
    loggers: Mapping[str, Logger], outcome: RunOutcome, published: PublishedResults
) -> None:
    """Hand results to each logger; a failure is a warning, as the files have them."""
    for name, logger in loggers.items():
        try:
            # stdout holds the tables and nothing else
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
    """Known numbers without slices: ``task/metric``, its ``_stderr`` and its counts."""
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
    """All results, slices and groups included, as one table; None where unknown."""
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
    """How the numbers came about, for a tracker: settings, versions, configurations."""
    keys = ("config", "configs", "versions", "n-samples", "model_name")
    return {key: published.document[key] for key in keys}
