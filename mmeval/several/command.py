"""Runs or forecasts the models of a configuration file, and prints one summary."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from mmeval._version import __version__
from mmeval.errors import EXIT_USAGE
from mmeval.report.terminal import columns, print_text, write_line
from mmeval.run.costs.shared_budget import BudgetLimits
from mmeval.settings.models import ConfiguredModels
from mmeval.settings.resolve import Setting
from mmeval.several.plans import CommandPlan, plan_models


def run_command(
    models: ConfiguredModels,
    shared: Mapping[str, Setting],
    command_line: Mapping[str, Any],
    environ: Mapping[str, str],
    *,
    command: str,
) -> int:
    """Runs the models, or forecasts their runs, and returns the exit code.

    ``shared`` are the settings of all models; ``command`` is recorded in the run
    folders. Raises UsageError for a wrong file or flag, and Interrupted.
    """
    planned = plan_models(models, shared, command_line, environ, command=command)
    if shared["write_out"].value:
        _write_prompts(planned)
    if shared["dry_run"].value:
        return _forecast(planned, as_json=shared["format"].value == "json")
    from mmeval.several.runs import exit_code_of, run_models
    from mmeval.several.summary import reasons_of, summary_text, write_board_of

    limits = BudgetLimits(
        shared["budget_usd"].value,
        shared["budget_tokens"].value,
        shared["budget_calls"].value,
    )
    runs = run_models(planned, limits)
    with_results = write_board_of(planned)
    if shared["table"].value != "none":
        print_text(summary_text(with_results, runs, planned.board, columns()))
    else:
        for line in reasons_of(runs, columns()):
            write_line(line)
    code = exit_code_of(runs)
    incomplete = [run for run in runs if run.exit_code]
    if incomplete:
        # the same command would be refused again
        is_refused = any(run.exit_code == EXIT_USAGE for run in incomplete)
        advice = "see above" if is_refused else "the same command continues them"
        write_line(
            f"exit code {code}: {len(incomplete)} of {len(runs)} models are not "
            f"complete; {advice}"
        )
    return code


def _write_prompts(planned: CommandPlan) -> None:
    """Writes the first prompts of the tasks, which all models share."""
    from mmeval.report.prompts import write_prompts
    from mmeval.task.selection import select

    plan = planned.chosen[0].run
    selection = select(
        plan.tasks,
        include_path=plan.include_path,
        overrides=plan.overrides,
        roles=frozenset(plan.options.roles),
    )
    write_prompts(selection, sys.stderr)


def _forecast(planned: CommandPlan, *, as_json: bool) -> int:
    from mmeval.several.forecasts import exit_code_of, forecast_models, forecasts_text

    forecasts = forecast_models(planned.chosen)
    if as_json:
        document = {
            "mmeval": __version__,
            "models": {entry.name: entry.to_json() for entry in forecasts},
        }
        print_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        print_text(forecasts_text(forecasts, columns()))
    return exit_code_of(forecasts)
