"""The budget of a run folder.

No call is sent after the budget is spent. The amount spent includes every attempt of
every role in all sessions of the folder, since the journal records earlier usage. The
expected cost of a call is the mean cost of earlier calls. A call is sent if the amount
spent, the expected cost of the calls in flight and its own expected cost together are
within the limit. Otherwise it waits until a call in flight ends. Therefore a limit is
exceeded only if calls in flight cost more than the mean. The limit of calls is never
exceeded. Calls to a model are sent one at a time until its first answer shows their
cost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from mmeval.backend.contract import AnyBackend, model_name_of
from mmeval.broker.runtime import BackendRuntime
from mmeval.errors import EXIT_INCOMPLETE, MmevalError, StoppedError, UsageError
from mmeval.findings.finding import Finding
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.run.costs.bill import spent_words
from mmeval.run.costs.prices import FREE, Price, Prices, bills, is_billed, line_to_add
from mmeval.store.call_context import CallContext
from mmeval.store.spending import CallTotals, ModelEndpoint, Spending

log = logging.getLogger(__name__)

Send = Callable[[Request, CallContext], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """The limits of a run; None for no limit.

    The limits are in US dollars, tokens (input and output) and calls (every attempt).
    """

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None

    def __bool__(self) -> bool:
        return self.by_usage or self.calls is not None

    @property
    def by_usage(self) -> bool:
        """True if the cost of a call is known only after its answer."""
        return self.usd is not None or self.tokens is not None


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
    ) -> None:
        """Raises UsageError for a dollar budget if an earlier call has no price."""
        self.limits = limits
        self.stop: Callable[[], None] = lambda: None
        self.reached = False
        self._prices, self._spending = prices, spending
        self._calls, self._tokens = spending.total.calls, spending.total.tokens
        price_of = _prices_of([endpoint for endpoint, _ in spending], limits, prices)
        self._usd = sum(
            price_of[endpoint].cost(totals) for endpoint, totals in spending
        )
        self._reserved: list[_Cost] = []  # one for each call in flight
        self._call_ended = asyncio.Event()

    def watch(self, roles: Mapping[str, BackendRuntime]) -> None:
        """Makes calls of these roles wait until they fit the limits, if any are set."""
        if not self.limits:
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
        spent = self._spent_limits
        if not spent:
            return
        flags = [f"--budget_{name} {getattr(self.limits, name):.15g}" for name in spent]
        bill = spent_words(bills(self._spending, self._prices))
        yield Finding(
            "budget",
            cause=f"the budget is spent: {' and '.join(flags)} ({bill})",
            remedy=" ".join(f"--budget_{name} N" for name in spent),
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
        while not self._fits(account):
            if self._spent_limits and not self._reserved:
                self.reached = True
                self.stop()
                raise StoppedError("the budget was spent before the call was made")
            self._call_ended.clear()
            await self._call_ended.wait()
            if runtime.stopped:
                raise StoppedError("stopped before the call was made")
        reserved = account.mean or _Cost(0.0, 0.0)
        self._reserved.append(reserved)
        self._calls += 1
        account.in_flight += 1
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

    def _fits(self, account: _Account) -> bool:
        """Returns True if a call may be sent.

        If no call is in flight, it may be sent unless the budget is spent.
        """
        if self._spent_limits:
            return False
        mean = account.mean
        if mean is None:
            return not (self.limits.by_usage and account.in_flight)
        if not self._reserved:
            return True
        usd = self._usd + mean.usd + sum(cost.usd for cost in self._reserved)
        tokens_in_flight = sum(cost.tokens for cost in self._reserved)
        tokens = self._tokens + mean.tokens + tokens_in_flight
        return _within(usd, self.limits.usd) and _within(tokens, self.limits.tokens)

    @property
    def _spent_limits(self) -> list[str]:
        limits = self.limits
        reached = []
        for name, amount, limit in (
            ("usd", self._usd, limits.usd),
            ("tokens", self._tokens, limits.tokens),
            ("calls", self._calls, limits.calls),
        ):
            if not _within(amount, limit, is_below=True):
                reached.append(name)
        return reached

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


def _within(
    amount: float,
    limit: float | None,
    *,
    is_below: bool = False,
) -> bool:
    """Returns True if an amount is within a limit.

    With ``is_below``, the amount must be below the limit.
    """
    if limit is None:
        return True
    # ten times 0.01 must equal 0.1 in spite of binary fractions
    amount = round(amount, 9)
    return amount < limit if is_below else amount <= limit
