"""Weights & Biases: logs a run's numbers as a run of wandb, with the results file."""

from __future__ import annotations

from typing import Any

from mmeval.report.loggers.contract import (
    described,
    flat_numbers,
    need_package,
    table_rows,
)
from mmeval.report.results_file import PublishedResults
from mmeval.run.options import RunOutcome
from mmeval.system.extras import need


class WandbLogger:
    """Logs the results to Weights & Biases.

    The arguments are those of ``wandb.init``. The default of ``project`` is ``mmeval``.
    The default of ``name`` is the model's name.

    Wandb itself decides whether and where it sends data (``WANDB_MODE``, ``WANDB_DIR``,
    ``WANDB_API_KEY``).
    """

    def __init__(self, **init: Any) -> None:
        need_package("wandb")
        self._init = init

    def log(self, outcome: RunOutcome, published: PublishedResults) -> None:
        wandb = need("wandb", "loggers")
        arguments = {
            "project": "mmeval",
            "name": outcome.model_name,
            "job_type": "evaluation",
            **self._init,
        }
        arguments["config"] = described(published) | arguments.get("config", {})
        with wandb.init(**arguments) as run:
            columns, rows = table_rows(outcome)
            table = wandb.Table(columns=list(columns), data=rows)
            run.log({**flat_numbers(outcome), "results": table})
            run.summary["exit_code"] = outcome.exit_code
            artifact = wandb.Artifact(f"results-{run.id}", type="results")
            artifact.add_file(str(published.file))
            run.log_artifact(artifact)
