"""The logger contract: what takes the results of a finished run elsewhere, and what happens when it cannot."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from mmeval import plugins
from mmeval.errors import Caught, MissingExtraError, UsageError
from mmeval.report.results_file import Published
from mmeval.run.options import RunOutcome

_log = logging.getLogger(__name__)


class Logger(Protocol):
    """The plugin contract of ``mmeval.loggers``: a class that is called with the logger's arguments as keywords, before
    anything is asked. It raises MissingError or UsageError for what it lacks."""

    def log(self, outcome: RunOutcome, published: Published) -> None:
        """Take the results elsewhere. Called once, after every file is written; whatever it raises is a warning."""
        ...


def create_loggers(named: Mapping[str, Mapping[str, Any]]) -> dict[str, Logger]:
    """The loggers of a run, by plugin name, made with their arguments.

    Raises UnknownNameError for a name, MissingExtraError for a package that is not installed, UsageError for arguments
    that the logger does not take.
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


def log_results(loggers: Mapping[str, Logger], outcome: RunOutcome, published: Published) -> None:
    """Hand finished results to each logger. One that fails costs a warning: the results lie in their files."""
    for name, logger in loggers.items():
        with Caught() as failure, contextlib.redirect_stdout(sys.stderr):  # stdout holds the tables and nothing else
            logger.log(outcome, published)
        if failure:
            _log.warning("the logger %r failed (%s); the results are in %s", name, failure.reason, published.file)


def need_package(package: str, extra: str) -> None:
    """Raises MissingExtraError when a logger's package is not installed. Nothing is imported."""
    if importlib.util.find_spec(package) is None:
        raise MissingExtraError(package, extra)


def flat_numbers(outcome: RunOutcome) -> dict[str, float]:
    """Every number that is known, slices left out: ``task/metric``, its ``_stderr`` and the counts behind it."""
    numbers: dict[str, float] = {}
    for result in (*outcome.results, *outcome.group_results):
        if result.slice:
            continue
        name = f"{result.task}/{result.metric}"
        found = {"": result.value, "_stderr": result.stderr, "_scored": result.scored, "_n": result.n}
        numbers.update({f"{name}{what}": value for what, value in found.items() if value is not None})
    return numbers


def table_rows(outcome: RunOutcome) -> tuple[Sequence[str], list[list[Any]]]:
    """All results as the columns and rows of one table, slices and groups included; None where a value is unknown."""
    columns = ("task", "slice", "metric", "value", "stderr", "scored", "failed", "unscored", "n", "higher_is_better")
    results = (*outcome.results, *outcome.group_results)
    return columns, [[getattr(result, column) for column in columns] for result in results]


def described(published: Published) -> dict[str, Any]:
    """What a tracker shows of how the numbers came about: settings, versions and configurations of the tasks."""
    return {key: published.document[key] for key in ("config", "configs", "versions", "n-samples", "model_name")}
