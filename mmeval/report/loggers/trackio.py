"""Trackio: logs the numbers of a run as a run of trackio."""

from __future__ import annotations

from typing import Any

from mmeval.report.loggers.contract import described, flat_numbers, need_package
from mmeval.report.results_file import PublishedResults
from mmeval.run.options import RunOutcome
from mmeval.system.extras import need


class TrackioLogger:
    """Logs the results to trackio.

    The arguments are those of ``trackio.init``. The default of ``project`` is
    ``mmeval``. The default of ``name`` is the model's name. Trackio itself decides
    where it stores data (``TRACKIO_DIR``, ``space_id``).
    """

    def __init__(self, **init: Any) -> None:
        need_package("trackio")
        self._init = init

    def log(self, outcome: RunOutcome, published: PublishedResults) -> None:
        trackio = need("trackio", "loggers")
        arguments = {"project": "mmeval", "name": outcome.model_name, **self._init}
        arguments["config"] = described(published) | arguments.get("config", {})
        trackio.init(**arguments)
        try:
            trackio.log({**flat_numbers(outcome), "exit_code": outcome.exit_code})
        finally:
            trackio.finish()
