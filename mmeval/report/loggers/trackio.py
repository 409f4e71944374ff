"""Trackio: the numbers of a run as one of its runs, kept where trackio keeps them."""

from __future__ import annotations

from typing import Any

from mmeval.report.loggers.contract import described, flat_numbers, need_package
from mmeval.report.results_file import PublishedResults
from mmeval.run.options import RunOutcome
from mmeval.system.extras import need


class TrackioLogger:
    """Logs the results to trackio.

    The arguments are those of ``trackio.init``; without a ``project`` it is ``mmeval``,
    without a ``name`` the model's. Where trackio keeps its data is its own to decide
    (``TRACKIO_DIR``, ``space_id``).
    """

    def __init__(self, **init: Any) -> None:
        need_package("trackio")
        self._init = init

    def log(self, outcome: RunOutcome, published: PublishedResults) -> None:
        trackio = need("trackio", "loggers")
        given = {"project": "mmeval", "name": outcome.model_name, **self._init}
        given["config"] = described(published) | given.get("config", {})
        trackio.init(**given)
        try:
            trackio.log({**flat_numbers(outcome), "exit_code": outcome.exit_code})
        finally:
            trackio.finish()
