from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from mmeval.broker.runtime import BackendRuntime
from mmeval.costs.budget import Budget, Limits, check_prices
from mmeval.costs.prices import Price, Prices
from mmeval.errors import StoppedError, UsageError
from mmeval.records.request import Request
from mmeval.records.response import Response, Usage
from mmeval.store.spending import Payee, Spending
from mmeval.store.ticket import Ticket
from tests.support.toy import Toy, ToyLocal, reply, request

PRICES = Prices({"toy-1": Price(input=0, output=1_000_000, as_of="2025-01-01")})
"""A dollar a token that comes out."""


def paid(tokens: int) -> Response:
    return replace(reply("answer"), usage=Usage(0, tokens))


def asked(
    limits: Limits,
    answers: Callable[[Request], Response] | None = None,
    *,
    before: Spending | None = None,
    delay: float = 0.0,
) -> tuple[Budget, BackendRuntime, Toy]:
    """A model under a budget, whose answers cost ten tokens unless said otherwise."""
    toy = Toy(answers=answers or (lambda _request: paid(10)), delay=delay)
    runtime = BackendRuntime(toy, limit=64, retries=0, live=lambda: 1)
    budget = Budget(limits, PRICES, before or Spending())
    budget.stop = runtime.stop
    budget.watch({"model": runtime})
    return budget, runtime, toy


async def outcomes(runtime: BackendRuntime, count: int) -> list[Response]:
    """The answers to so many calls at once; those that were not made are left out."""
    calls = (runtime.ask(request(f"question {i}"), Ticket(f"t/{i}")) for i in range(count))
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(item, tuple | StoppedError) for item in found), found
    return [item[0] for item in found if isinstance(item, tuple)]


async def test_exactly_as_many_calls_are_made_as_the_budget_has() -> None:
    budget, runtime, toy = asked(Limits(calls=7))
    answered = await outcomes(runtime, 64)
    assert (len(answered), len(toy.asked), budget.reached) == (7, 7, True)


@pytest.mark.parametrize("limits", [Limits(tokens=200), Limits(usd=200.0)], ids=["tokens", "dollars"])
async def test_calls_of_equal_cost_meet_the_limit_however_many_are_in_flight(limits: Limits) -> None:
    budget, runtime, toy = asked(limits, delay=0.005)
    answered = await outcomes(runtime, 64)
    assert (sum(response.usage.output_tokens for response in answered), len(toy.asked)) == (200, 20)
    assert budget.reached


async def test_calls_of_uneven_cost_pass_the_limit_by_no_more_than_what_is_in_flight_costs_above_the_mean() -> None:
    def uneven(asked: Request) -> Response:
        return paid(5 if int(asked.messages[0].content.text.split()[1]) % 2 else 25)

    _, runtime, _ = asked(Limits(tokens=1000), uneven, delay=0.001)
    answered = await outcomes(runtime, 200)
    assert 1000 <= sum(response.usage.output_tokens for response in answered) <= 1000 + 64 * 10 + 25


async def test_until_a_first_answer_shows_what_calls_cost_they_are_sent_one_at_a_time() -> None:
    most = now = 0

    async def watched(send: Callable[..., object], *given: object) -> Response:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return Response.failed("bad_request", "no")

    budget, runtime, _ = asked(Limits(tokens=1000))
    toy_generate = runtime.send
    runtime.model.generate = lambda given: watched(toy_generate, given)  # type: ignore[union-attr,method-assign]

    await asyncio.gather(*(runtime.ask(request(f"question {i}"), Ticket(f"t/{i}")) for i in range(5)))

    assert (most, budget.reached) == (1, False)


async def test_a_call_that_costs_more_than_what_is_left_is_made_when_it_is_the_only_one() -> None:
    _, runtime, _ = asked(Limits(tokens=15))
    assert len(await outcomes(runtime, 10)) == 2


async def test_what_earlier_sessions_have_spent_counts() -> None:
    before = Spending()
    before.add(Payee("model", "toy-1"), paid(95), tries=3)
    _, runtime, toy = asked(Limits(tokens=100), before=before)
    await outcomes(runtime, 5)
    assert len(toy.asked) == 1


async def test_a_budget_that_is_spent_to_the_last_call_stops_nothing() -> None:
    budget, runtime, _ = asked(Limits(calls=5))
    assert (len(await outcomes(runtime, 5)), budget.reached) == (5, False)


async def test_failed_tries_count_and_unreachable_servers_do_not() -> None:
    kinds = iter(["server", "unreachable", "server", "server"])
    budget, runtime, toy = asked(Limits(calls=3), lambda _request: Response.failed(next(kinds), "no"))  # type: ignore[arg-type]
    send = runtime.send
    sent = [await send(request(), Ticket("t")) for _ in range(4)]
    assert ([r.error.kind for r in sent if r.error], budget.reached) == (
        ["server", "unreachable", "server", "server"],
        False,
    )
    with pytest.raises(StoppedError):
        await send(request(), Ticket("t"))
    assert len(toy.asked) == 4


async def test_a_call_that_waits_for_its_place_is_not_made_once_the_run_is_stopped() -> None:
    budget, runtime, toy = asked(Limits(tokens=1000), delay=0.05)
    calls = [asyncio.create_task(runtime.ask(request(f"question {i}"), Ticket(f"t/{i}"))) for i in range(3)]
    await asyncio.sleep(0.01)
    runtime.stop()
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert ([type(item) for item in found], len(toy.asked)) == ([tuple, StoppedError, StoppedError], 1)
    assert not budget.reached


async def test_a_model_that_does_not_report_its_tokens_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    _, runtime, _ = asked(Limits(tokens=100), lambda _request: reply("answer"))
    with caplog.at_level(logging.WARNING, "mmeval"):
        await outcomes(runtime, 3)
    assert [record.message.partition(" ")[0] for record in caplog.records] == ["toy-1"]


async def test_a_local_model_needs_no_price() -> None:
    runtime = BackendRuntime(ToyLocal(), limit=64, retries=0, live=lambda: 1)
    Budget(Limits(usd=0.01), Prices(), Spending()).watch({"model": runtime})
    assert (await runtime.ask(request("question 1"), Ticket("t")))[0].text == "answer 1"
    await runtime.close()


async def test_calls_that_wait_for_company_in_a_batch_are_made_before_the_budget_stops_the_run() -> None:
    toy = ToyLocal(max_batch_size=4)
    runtime = BackendRuntime(toy, limit=64, retries=0, live=lambda: 64)
    budget = Budget(Limits(calls=5), PRICES, Spending())
    budget.stop = runtime.stop
    budget.watch({"model": runtime})
    answered = await outcomes(runtime, 16)
    await runtime.close()
    assert (len(answered), sum(len(batch) for batch in toy.batches), budget.reached) == (5, 5, True)


async def test_without_limits_nothing_stands_between_a_role_and_its_backend() -> None:
    runtime = BackendRuntime(Toy(), limit=64, retries=0, live=lambda: 1)
    send = runtime.send
    Budget(Limits(), PRICES, Spending()).watch({"model": runtime})
    assert runtime.send is send


def test_a_model_without_a_price_is_refused_with_the_line_to_add() -> None:
    with pytest.raises(UsageError, match=r"no price is known for toy-2 \(judge\)(.|\n)*toy-2: \{input: 0, output: 0\}"):
        check_prices(Limits(usd=1.0), PRICES, {"model": Toy(), "judge": Toy(model="toy-2")})
    check_prices(Limits(tokens=1), PRICES, {"judge": Toy(model="toy-2")})


def test_all_unknown_prices_are_told_at_once() -> None:
    roles = {
        "model": Toy(),
        "judge": Toy(model="toy-2"),
        "captioner": Toy(model="toy-2"),
        "checker": Toy(model="toy-3"),
    }
    with pytest.raises(UsageError) as caught:
        check_prices(Limits(usd=1.0), PRICES, roles)
    said = str(caught.value)
    assert "no price is known for toy-2 (judge, captioner) and toy-3 (checker)" in said
    assert len(said.splitlines()) == 3


def test_earlier_calls_without_a_price_are_refused() -> None:
    before = Spending()
    before.add(Payee("judge", "toy-2"), paid(1), tries=1)
    with pytest.raises(UsageError, match="toy-2"):
        Budget(Limits(usd=1.0), PRICES, before)
