import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.broker.runtime import BackendRuntime
from mmeval.errors import StoppedError, UsageError
from mmeval.records.request import Request
from mmeval.records.response import Response, Usage
from mmeval.run.costs.budget import Budget, check_prices
from mmeval.run.costs.prices import Price, Prices
from mmeval.run.costs.shared_budget import Amounts, BudgetLimits, SharedBudget
from mmeval.store.call_context import CallContext
from mmeval.store.spending import ModelEndpoint, Spending
from tests.support.toy import Toy, ToyLocal, reply, request

PRICES = Prices({"toy-1": Price(input=0, output=1_000_000)})
"""A dollar a token that comes out."""


def paid(tokens: int) -> Response:
    return replace(reply("answer"), usage=Usage(0, tokens))


def ten(_request: Request) -> Response:
    return paid(10)


def asked(
    limits: BudgetLimits,
    answers: Callable[[Request], Response] = ten,
    *,
    before: Spending | None = None,
) -> tuple[Budget, BackendRuntime, Toy]:
    """A model under a budget, which takes a second for an answer."""
    toy = Toy(answers=answers, delay=1)
    runtime = BackendRuntime(toy, limit=64, retries=0, live=lambda: 1)
    return under(Budget(limits, PRICES, before or Spending()), runtime), runtime, toy


def under(budget: Budget, runtime: BackendRuntime) -> Budget:
    budget.stop = runtime.stop
    budget.watch({"model": runtime})
    return budget


async def outcomes(runtime: BackendRuntime, count: int) -> list[Response]:
    """The answers to so many calls at once; those that were not made are left out."""
    calls = (
        runtime.ask(request(f"question {i}"), CallContext(f"t/{i}"))
        for i in range(count)
    )
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(item, tuple | StoppedError) for item in found), found
    return [item[0] for item in found if isinstance(item, tuple)]


@pytest.mark.parametrize(
    ("limits", "calls", "made", "reached"),
    [
        (BudgetLimits(calls=7), 64, 7, True),
        (BudgetLimits(calls=5), 5, 5, False),
        (BudgetLimits(tokens=200), 64, 20, True),
        (BudgetLimits(usd=200.0), 64, 20, True),
        (BudgetLimits(tokens=15), 10, 2, True),
    ],
    ids=[
        "calls",
        "to the last call",
        "tokens",
        "dollars",
        "more than is left, as the only one",
    ],
)
async def test_calls_of_equal_cost_meet_the_limit_however_many_are_in_flight(
    limits: BudgetLimits, calls: int, made: int, reached: bool
) -> None:
    budget, runtime, toy = asked(limits)
    answered = await outcomes(runtime, calls)
    assert (len(answered), len(toy.asked), budget.reached) == (made, made, reached)


async def test_calls_of_uneven_cost_pass_the_limit_by_no_more_than_what_is_in_flight_costs_above_the_mean() -> (
    None
):
    def uneven(asked: Request) -> Response:
        return paid(5 if int(asked.messages[0].content.text.split()[1]) % 2 else 25)

    _, runtime, _ = asked(BudgetLimits(tokens=1000), uneven)
    answered = await outcomes(runtime, 200)
    assert (
        1000
        <= sum(response.usage.output_tokens for response in answered)
        <= 1000 + 64 * 10 + 25
    )


async def test_failed_tries_count_and_unreachable_servers_do_not() -> None:
    kinds = ["server", "unreachable", "server", "server"]
    left = iter(kinds)
    budget, runtime, toy = asked(
        BudgetLimits(calls=3),
        lambda _: Response.failed(next(left), "no"),  # type: ignore[arg-type]
    )
    assert runtime.send is not None
    found = [await runtime.send(request(), CallContext("t")) for _ in range(4)]
    assert ([one.error and one.error.kind for one in found], budget.reached) == (
        kinds,
        False,
    )
    with pytest.raises(StoppedError):
        await runtime.send(request(), CallContext("t"))
    assert len(toy.asked) == 4


async def test_a_call_that_waits_for_its_place_is_not_made_once_the_run_is_stopped() -> (
    None
):
    budget, runtime, toy = asked(BudgetLimits(tokens=1000))
    calls = [
        asyncio.create_task(
            runtime.ask(request(f"question {i}"), CallContext(f"t/{i}"))
        )
        for i in range(3)
    ]
    await asyncio.sleep(0.5)
    runtime.stop()
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert ([type(item) for item in found], len(toy.asked)) == (
        [tuple, StoppedError, StoppedError],
        1,
    )
    assert not budget.reached


@pytest.mark.parametrize(
    "count", [10**399, -5, 0.5, float("inf"), "12", None], ids=repr
)
async def test_a_count_of_tokens_that_is_none_is_not_counted(count: Any) -> None:
    budget, runtime, _ = asked(
        BudgetLimits(tokens=10, usd=1),
        lambda _: replace(reply("answer"), usage=Usage(count, count)),
    )
    assert (len(await outcomes(runtime, 3)), budget.reached) == (3, False)


async def test_no_call_waits_for_one_whose_cost_cannot_be_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, runtime, _ = asked(BudgetLimits(tokens=1000))
    monkeypatch.setattr(Price, "cost", lambda *_: 1 / 0)
    assert [one.error and one.error.kind for one in await outcomes(runtime, 3)] == [
        "internal"
    ] * 3


async def test_a_model_that_does_not_report_its_tokens_is_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, runtime, _ = asked(BudgetLimits(tokens=100), lambda _request: reply("answer"))
    with caplog.at_level(logging.WARNING, "mmeval"):
        await outcomes(runtime, 3)
    assert [record.message.partition(" ")[0] for record in caplog.records] == ["toy-1"]


async def test_a_local_model_needs_no_price_and_its_batches_are_made_before_the_budget_stops_the_run() -> (
    None
):
    free = BackendRuntime(ToyLocal(), limit=64, retries=0, live=lambda: 1)
    Budget(BudgetLimits(usd=0.01), Prices(), Spending()).watch({"model": free})
    assert (await free.ask(request("question 1"), CallContext("t")))[
        0
    ].text == "answer 1"
    await free.close()
    toy = ToyLocal(max_batch_size=4)
    runtime = BackendRuntime(toy, limit=64, retries=0, live=lambda: 64)
    budget = under(Budget(BudgetLimits(calls=5), PRICES, Spending()), runtime)
    answered = await outcomes(runtime, 16)
    await runtime.close()
    assert (
        len(answered),
        sum(len(batch) for batch in toy.batches),
        budget.reached,
    ) == (5, 5, True)


def test_models_without_a_price_are_refused_together_with_the_lines_to_add() -> None:
    others = {
        "judge": Toy(model="toy-2"),
        "captioner": Toy(model="toy-2"),
        "checker": Toy(model="toy-3"),
    }
    check_prices(BudgetLimits(tokens=1), PRICES, others)
    with pytest.raises(UsageError) as caught:
        check_prices(BudgetLimits(usd=1.0), PRICES, {"model": Toy(), **others})
    assert caught.value.name == "toy-2, toy-3"
    first, *lines = str(caught.value).splitlines()
    assert "toy-2 (judge, captioner) and toy-3 (checker)" in first
    assert lines == ["  toy-2: {input: 0, output: 0}", "  toy-3: {input: 0, output: 0}"]
    before = Spending()
    before.add(ModelEndpoint("judge", "toy-2"), paid(1), tries=1)
    with pytest.raises(UsageError) as caught:
        Budget(BudgetLimits(usd=1.0), PRICES, before)
    assert caught.value.name == "toy-2"


def shared(limits: BudgetLimits, spent_by_other: Amounts) -> Budget:
    """The budget of a run beside another run, which has spent something."""
    budget = SharedBudget(limits)
    budget.record(Path("other"), spent_by_other, spent_by_other)
    return Budget(BudgetLimits(), PRICES, Spending(), folder=Path("own"), shared=budget)


async def test_what_another_run_spent_counts_in_the_shared_budget() -> None:
    toy = Toy(answers=ten, delay=1)
    runtime = BackendRuntime(toy, limit=64, retries=0, live=lambda: 1)
    budget = under(shared(BudgetLimits(calls=7), Amounts(calls=5)), runtime)
    assert len(await outcomes(runtime, 20)) == 2
    assert budget.reached
    (finding,) = budget.findings()
    assert "of all models" in finding.cause


async def test_a_call_is_expected_to_cost_what_fits_beside_the_calls_of_other_runs() -> (
    None
):
    toy = Toy(answers=ten, delay=1)
    runtime = BackendRuntime(toy, limit=64, retries=0, live=lambda: 1)
    under(shared(BudgetLimits(tokens=100), Amounts(tokens=70)), runtime)
    assert len(await outcomes(runtime, 20)) == 3
