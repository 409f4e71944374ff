"""Forecasts the runs of several models: a row a model, and their sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, MmevalError
from mmeval.forecast.dry_run import forecast
from mmeval.forecast.estimate import NOTHING, RoleLoad, TokenRange
from mmeval.forecast.records import Forecast
from mmeval.forecast.text import cost_words
from mmeval.several.plans import ModelPlan
from mmeval.system.wording import printable, wrapped
from mmeval.task.selection import select

_HEADERS = ("", "calls", "answered", "dollars")
_WIDEST_NAME = 36
_GAP = "  "


@dataclass(frozen=True)
class ModelForecast:
    """The forecast of a model's run, or the ``error`` that its run would end with."""

    name: str
    forecast: Forecast | None = None
    error: str = ""

    @property
    def load(self) -> RoleLoad:
        """The calls of all roles."""
        total = RoleLoad()
        if self.forecast is not None:
            for load in self.forecast.by_role().values():
                total.merge(load)
        return total

    @property
    def is_complete(self) -> bool:
        return self.forecast is not None and self.forecast.exit_code == EXIT_OK

    def to_json(self) -> dict[str, Any]:
        if self.forecast is None:
            return {"error": self.error}
        return self.forecast.to_json()


def forecast_models(plans: Sequence[ModelPlan]) -> list[ModelForecast]:
    """Forecasts each model. If one cannot be forecast, the others still are."""
    forecasts = []
    for plan in plans:
        options = plan.run.options
        try:
            selection = select(
                plan.run.tasks,
                include_path=plan.run.include_path,
                overrides=plan.run.overrides,
                roles=frozenset(options.roles),
            )
            estimate = forecast(selection, options)
            forecasts.append(ModelForecast(plan.entry.name, estimate))
        except MmevalError as error:
            forecasts.append(ModelForecast(plan.entry.name, error=str(error)))
    return forecasts


def exit_code_of(forecasts: Sequence[ModelForecast]) -> int:
    """Returns 0 if all runs would be complete, else 3."""
    is_complete = all(entry.is_complete for entry in forecasts)
    return EXIT_OK if is_complete else EXIT_INCOMPLETE


def forecasts_text(forecasts: Sequence[ModelForecast], width: int) -> str:
    """Returns a row for each model, the sum of those with a forecast, and what each run
    would lack."""
    rows = [list(_HEADERS)]
    total_load = RoleLoad()
    costs: list[TokenRange | None] = []
    for entry in forecasts:
        total_load.merge(entry.load)
        if entry.forecast is None:
            rows.append([_name(entry.name), "-", "-", "-"])
            continue
        cost = entry.forecast.total()
        costs.append(cost)
        rows.append([_name(entry.name), *_cells(entry.load, cost)])
    # the sum of the others is not the sum of all
    is_whole = len(costs) == len(forecasts)
    summed = "all" if is_whole else f"{len(costs)} of {len(forecasts)} models"
    rows.append([summed, *_cells(total_load, _sum(costs))])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["dry run: nothing was sent", ""]
    for name, *cells in rows:
        line = f"{name:{widths[0]}}"
        for cell, cell_width in zip(cells, widths[1:], strict=True):
            line += f"{_GAP}{cell:>{cell_width}}"
        lines.append(line.rstrip())
    lines.append("")
    for entry in forecasts:
        reason = entry.error
        if not reason and not entry.is_complete:
            reason = "its results would be incomplete"
        if reason:
            text = printable(f"{entry.name}: {reason}", limit=2_000)
            lines += wrapped(f"not complete  {text}", width, _GAP)
    lines.append("more  --format json")
    return "".join(f"{line}\n" for line in lines)


def _name(name: str) -> str:
    return printable(name, limit=_WIDEST_NAME)


def _cells(load: RoleLoad, cost: TokenRange | None) -> list[str]:
    calls = f"{load.calls:,.0f}"
    if load.estimated:
        calls = f"about {calls}"
    return [calls, f"{load.kept:,.0f}", cost_words(cost)]


def _sum(costs: Sequence[TokenRange | None]) -> TokenRange | None:
    """Returns the sum of the costs; None if one of them is unknown."""
    total = NOTHING
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total
