"""The budget of a run folder.

No call is sent after the budget is spent. The amount spent includes every attempt of
every role in all sessions of the folder, since the journal records earlier usage. The
expected cost of a call is the mean cost of earlier calls. A call is sent if the amount
spent, the expected cost of the calls in flight and its own expected cost together are
within the limit. Otherwise it waits until a call in flight ends. Therefore a limit is
exceeded only if calls in flight cost more than the mean. The limit of calls is never
exceeded. Calls to a model are sent one at a time until its first answer shows their
cost. If runs share a budget, both their own limits and the shared limits apply.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from mmeval.backend.contract import AnyBackend, model_name_of
from mmeval.broker.runtime import BackendRuntime
from mmeval.errors import EXIT_INCOMPLETE, MmevalError, StoppedError, UsageError
from mmeval.findings.finding import Finding
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.run.costs.bill import spent_words
from mmeval.run.costs.prices import FREE, Price, Prices, bills, is_billed, line_to_add
from mmeval.run.costs.shared_budget import Amounts, BudgetLimits, SharedBudget
from mmeval.store.call_context import CallContext
from mmeval.store.spending import CallTotals, ModelEndpoint, Spending

log = logging.getLogger(__name__)

Send = Callable[[Request, CallContext], Awaitable[Response]]


class BudgetSpentError(MmevalError):
    """A budget limit was reached. All answers are kept."""

    exit_code = EXIT_INCOMPLETE


def check_prices(
    limits: BudgetLimits, prices: Prices, backends: Mapping[str, AnyBackend]
) -> None:
    """Raises UsageError for a dollar budget if a price is unknown.

    The message contains the line to add to the price file.
    """
    endpoints = []
    for role, backend in backends.items():
        if is_billed(backend):
            address = str(backend.identity.get("base_url", ""))
            endpoints.append(
                ModelEndpoint(role, model_name_of(backend.identity), address=address)
            )
    _prices_of(endpoints, limits, prices)


def _prices_of(
    endpoints: Collection[ModelEndpoint], limits: BudgetLimits, prices: Prices
) -> dict[ModelEndpoint, Price]:
    """Returns the price of each endpoint; zero without a dollar budget.

    Raises UsageError if a price is unknown. The message contains the line to add for
    each model.
    """
    if limits.usd is None:
        return dict.fromkeys(endpoints, FREE)
    price_of: dict[ModelEndpoint, Price] = {}
    roles: dict[str, list[str]] = {}
    for endpoint in endpoints:
        price = prices.of(endpoint)
        if price is None:
            roles.setdefault(endpoint.model, []).append(endpoint.role)
        else:
            price_of[endpoint] = price
    if not roles:
        return price_of
    models = " and ".join(
        f"{model} ({', '.join(model_roles)})" for model, model_roles in roles.items()
    )
    lines = "\n  ".join(map(line_to_add, roles))
    raise UsageError(
        f"--budget_usd: the price of {models} is unknown. Put it in a file, under the "
        "key models:, in dollars per million tokens (0 where nothing is charged), and "
        f"pass the file with --model_cost_config:\n  {lines}",
        name=", ".join(roles),
    )


class _Cost(NamedTuple):
    usd: float
    tokens: float


@dataclass
class _Account:
    """The usage of one backend's calls in this folder, including earlier sessions."""

    name: str
    price: Price
    used: CallTotals
    in_flight: int = 0
    warned: bool = False

    @property
    def mean(self) -> _Cost | None:
        """The mean cost of a call; None before the first answer."""
        answered = self.used.answered
        if not answered:
            return None
        return _Cost(self.price.cost(self.used) / answered, self.used.tokens / answered)


class _ReachedLimits(NamedTuple):
    """The names of limits that are reached, of this run or of all runs."""

    names: list[str]
    are_shared: bool


class Budget:
    """Enforces the limits of a run folder.

    ``spending`` is its usage so far. ``stop`` is called when a limit prevents a call.
    After that, no further call is sent. ``stop`` is called only when no call is in
    flight, since stopping the run would also stop calls that still wait for other calls
    of their batch.
    """

    def __init__(
        self,
        limits: BudgetLimits,
        prices: Prices,
        spending: Spending,
        *,
        folder: Path = Path(),
        shared: SharedBudget | None = None,
    ) -> None:
        """Raises UsageError for a dollar budget if an earlier call has no price.

        ``shared`` is the budget of all runs of the command; ``folder`` names this run
        in it.
        """
        self.limits = limits
        self._shared = SharedBudget(BudgetLimits()) if shared is None else shared
        self._folder = folder
        self.stop: Callable[[], None] = lambda: None
        self.reached = False
        self._stopped_by: _ReachedLimits | None = None
        self._prices, self._spending = prices, spending
        self._calls, self._tokens = spending.total.calls, spending.total.tokens
        price_of = _prices_of([endpoint for endpoint, _ in spending], limits, prices)
        self._usd = sum(
            price_of[endpoint].cost(totals) for endpoint, totals in spending
        )
        self._reserved: list[_Cost] = []  # one for each call in flight
        self._share()
        self._call_ended = asyncio.Event()

    def watch(self, roles: Mapping[str, BackendRuntime]) -> None:
        """Makes calls of these roles wait until they fit the limits, if any are set."""
        if not (self.limits or self._shared.limits):
            return
        # if roles share a backend, the last role names it
        watched = {id(runtime): (role, runtime) for role, runtime in roles.items()}
        for role, runtime in watched.values():
            endpoint = runtime.endpoint(role)
            if endpoint is None:
                continue
            used = CallTotals()
            for known_endpoint, totals in self._spending:
                if known_endpoint.model == endpoint.model:
                    used += totals
            price = _prices_of([endpoint], self.limits, self._prices)[endpoint]
            account = _Account(endpoint.model, price, used)
            runtime.send = partial(
                self._send_within_limits, account, runtime, runtime.send
            )

    def findings(self) -> Iterator[Finding]:
        """Yields a finding if a limit is reached, with the flags that raise it."""
        # amounts of other runs change, so the limits that stopped this run are kept
        limits = self._stopped_by or self._reached_limits()
        if limits is None:
            return
        whose, names = "the budget", limits.names
        if limits.are_shared:
            whose = "the budget of all models"
        values = self._shared.limits if limits.are_shared else self.limits
        flags = [f"--budget_{name} {getattr(values, name):.15g}" for name in names]
        bill = spent_words(bills(self._spending, self._prices))
        yield Finding(
            "budget",
            cause=f"{whose} is spent: {' and '.join(flags)} ({bill})",
            remedy=" ".join(f"--budget_{name} N" for name in names),
            severity="error",
        )

    def spent_error(self, so_far: str) -> BudgetSpentError:
        """Returns the error that ends a run at a limit.

        ``so_far`` states its progress.
        """
        (finding,) = self.findings()
        return BudgetSpentError(
            f"{finding.cause}. {so_far}, and all answers are kept: raise the budget "
            "and run the same command"
        )

    async def _send_within_limits(
        self,
        account: _Account,
        runtime: BackendRuntime,
        send: Send | None,
        request: Request,
        context: CallContext,
    ) -> Response:
        while True:
            # no other run may reserve a call between the check and the reservation
            with self._shared.lock:
                if self._fits(account):
                    reserved = self._reserve(account)
                    break
                reached = self._reached_limits()
                if reached is not None and not self._reserved:
                    self.reached = True
                    self._stopped_by = reached
                    self.stop()
                    raise StoppedError("the budget was spent before the call was made")
            self._call_ended.clear()
            await self._call_ended.wait()
            if runtime.stopped:
                raise StoppedError("stopped before the call was made")
        used = CallTotals(calls=1)
        try:
            if send is not None:
                response = await send(request, context)
            else:
                assert runtime.model is not None
                response = await runtime.model.generate(request)
            used = CallTotals()
            if response.error is None or response.error.kind != "unreachable":
                used.add(response)
            return response
        finally:
            try:
                self._record_usage(account, reserved, used)
            finally:
                self._call_ended.set()  # even after an error, so that no call hangs

    def _reserve(self, account: _Account) -> _Cost:
        reserved = account.mean or _Cost(0.0, 0.0)
        self._reserved.append(reserved)
        self._calls += 1
        account.in_flight += 1
        self._share()
        return reserved

    def _fits(self, account: _Account) -> bool:
        """Returns True if a call may be sent.

        If no call is in flight, it may be sent unless the budget is spent.
        """
        if self._reached_limits() is not None:
            return False
        mean = account.mean
        if mean is None:
            by_usage = self.limits.by_usage or self._shared.limits.by_usage
            return not (by_usage and account.in_flight)
        if not self._reserved:
            return True
        expected = self._expected.plus(Amounts(mean.usd, mean.tokens))
        others = self._shared.expected_besides(self._folder)
        expected_of_all = expected.plus(others)
        is_within = self.limits.allow(expected)
        return is_within and self._shared.limits.allow(expected_of_all)

    @property
    def _spent(self) -> Amounts:
        """What this run has spent. Calls in flight count as calls only."""
        return Amounts(self._usd, self._tokens, self._calls)

    @property
    def _expected(self) -> Amounts:
        """What this run has spent, with the expected cost of its calls in flight."""
        usd = sum(cost.usd for cost in self._reserved)
        tokens = sum(cost.tokens for cost in self._reserved)
        return self._spent.plus(Amounts(usd, tokens))

    def _reached_limits(self) -> _ReachedLimits | None:
        """Returns the limits of this run that are reached, else those of all runs."""
        own = self.limits.reached_by(self._spent)
        if own:
            return _ReachedLimits(own, are_shared=False)
        spent_by_all = self._spent.plus(self._shared.spent_besides(self._folder))
        shared = self._shared.limits.reached_by(spent_by_all)
        return _ReachedLimits(shared, are_shared=True) if shared else None

    def _share(self) -> None:
        self._shared.record(self._folder, self._spent, self._expected)

    def _record_usage(
        self,
        account: _Account,
        reserved: _Cost,
        used: CallTotals,
    ) -> None:
        self._reserved.remove(reserved)
        account.in_flight -= 1
        account.used += used
        self._calls += used.calls - 1  # one call was counted when it was sent
        self._usd += account.price.cost(used)
        self._tokens += used.tokens
        self._share()
        price_per_answer = account.price.cost(
            CallTotals(answered=1, images=1, videos=1)
        )
        by_tokens = self.limits.by_usage and not price_per_answer
        if by_tokens and used.answered and not used.tokens and not account.warned:
            account.warned = True
            log.warning(
                "%s does not report tokens, so they are not counted; only "
                "--budget_calls limits its calls",
                account.name,
            )
