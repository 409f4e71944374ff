from pathlib import Path

from mmeval.forecast.records import Forecast
from mmeval.run.costs.prices import load_prices
from mmeval.run.costs.shared_budget import BudgetLimits
from mmeval.several.forecasts import ModelForecast, forecasts_text

EMPTY = Forecast(
    folder=Path(),
    answers=0,
    other_answers=0,
    tasks=(),
    groups=(),
    hosts={},
    endpoints={},
    prices=load_prices(None),
    limits=BudgetLimits(),
    spent=(),
    free_bytes=0,
)
KNOWN = ModelForecast("known", EMPTY)
FAILED = ModelForecast("away", error="unknown argument")


def test_a_sum_without_a_model_is_not_called_the_sum_of_all() -> None:
    lines = forecasts_text([KNOWN, FAILED], 80).splitlines()
    assert lines[5].startswith("1 of 2 models")


def test_a_sum_of_all_models_is_called_so() -> None:
    assert forecasts_text([KNOWN], 80).splitlines()[4].startswith("all ")


def test_a_model_without_a_forecast_is_named_with_its_reason() -> None:
    assert "not complete  away: unknown argument" in forecasts_text([FAILED], 80)
