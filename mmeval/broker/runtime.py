"""Roles: how a backend is asked, with its limit, its retries and its breaker."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from mmeval.backend.batch_size import AUTO, BatchSize
from mmeval.backend.contract import (
    AnyBackend,
    BatchBackend,
    Batched,
    LocalWork,
    ModelBackend,
    ProgramBackend,
    SampleBackend,
    Startable,
    WholeAnswers,
    asked_model,
)
from mmeval.broker.batch_answer import ThisProcess
from mmeval.broker.batcher import Answerer, Batcher
from mmeval.broker.limiter import Limiter, wait
from mmeval.broker.outage import Outage
from mmeval.broker.server_batcher import ServerBatcher
from mmeval.errors import (
    EXIT_UNEXPECTED,
    BackendDownError,
    KeyRefusedError,
    MmevalError,
    RoleLostError,
    StartFailedError,
    StoppedError,
    message_of,
)
from mmeval.records.digests import digest
from mmeval.records.request import Request
from mmeval.records.response import RETRYABLE, UNANSWERED, ErrorKind, Response
from mmeval.store.spending import Payee
from mmeval.store.ticket import Ticket
from mmeval.system.threads import OwnThread

log = logging.getLogger(__name__)

Send: TypeAlias = Callable[[Request, Ticket], Awaitable[Response]]

RATE_LIMIT_TRIES = 100
"""How often a call may be refused for its rate; it waits longer each time, so this is
most of an hour, not seconds."""
NO_LIMIT = 1 << 30
LONG_WAIT = 60.0
"""Seconds of a pause before a call is sent again, from which it is reported, once."""
FAILURES_IN_A_ROW = 50
"""So many calls that all fail after their retries mean that the backend is gone."""
BACKOFF_BASE, BACKOFF_CAP = 0.5, 30.0  # seconds
REFUSED_BASE = 0.05
"""Seconds that a call waits after its first refusal where the server asks for less,
doubled with each one."""


@dataclass(slots=True)
class Tries:
    """The failed tries of one call so far: how many, and the response of the last."""

    failed: int = 0
    last: Response | None = None

    def note(self, response: Response) -> None:
        self.failed += 1
        self.last = response


def mark_of(identity: Mapping[str, Any]) -> str:
    """Names in the journal who has answered."""
    return digest(identity)[:8]


class BackendRuntime:
    """A role's backend with its limits and retries. ``first`` is done in a thread
    before anything is asked; what it raises keeps the backend from being asked.
    ``answerer`` answers the batches of a local model; by default a thread of this
    process does. ``notes`` is the folder for the batches of all servers, by which they
    are found again; without it a server gets none.

    What a backend is and can do is looked up once: protocols and properties are too
    slow to ask at every call.
    """

    def __init__(
        self,
        backend: AnyBackend,
        *,
        limit: int,
        retries: int,
        live: Callable[[], int],
        batch_size: BatchSize = AUTO,
        first: Callable[[], object] | None = None,
        answerer: Answerer | None = None,
        notes: Path | None = None,
    ) -> None:
        self.backend = backend
        self.capabilities = backend.capabilities
        self.identity = dict(backend.identity)
        self.mark = mark_of(self.identity)
        self.billed = asked_model(self.identity)
        self.samples = backend if isinstance(backend, SampleBackend) else None
        self.in_place = self.samples is not None and not isinstance(
            backend, WholeAnswers
        )
        """Whether the media of its answers are files of the data set, which stay where
        they are."""
        self.programs = backend if isinstance(backend, ProgramBackend) else None
        self.model = backend if isinstance(backend, ModelBackend) else None
        # A local model's batches are its limit: calls wait in the batcher, where they
        # can be put together.
        batches = backend.batches if isinstance(backend, Batched) else None
        self._local = isinstance(backend, BatchBackend)
        self.limiter = Limiter(
            NO_LIMIT if self._local or (batches and notes) else limit
        )
        self.retries = retries
        self.resting = 0
        """Calls that wait before they are sent again; they hold no connection
        meanwhile."""
        self.on_room: Callable[[], None] = lambda: None
        """Called when there is room for another call: one rests, or ``width`` has
        grown."""
        self.batcher: Batcher | ServerBatcher | None = None
        if isinstance(backend, BatchBackend):
            self.batcher = Batcher(
                answerer or ThisProcess(backend),
                live,
                batch_size.rows_for(backend),
                growths=batch_size.growths,
            )
            self.batcher.on_room = self._has_room
        elif batches is not None and notes is not None and self.model is not None:
            # another backend has other answers to the same requests
            own = notes / self.mark
            self.batcher = ServerBatcher(
                batches,
                self.model.generate,
                own,
                live,
                limit=limit,
                report=self._waits_for,
            )
        self.send: Send | None = None if self.batcher is None else self.batcher.ask
        """Makes one call in place of ``generate`` of the model. A budget puts itself
        around both."""
        self._payees: dict[str, Payee] = {}
        self.on_outage: Callable[[str], None] = lambda _backend: None
        """Called with what every call waits for, the roles of an outage or a batch, and
        with "" when that is over."""
        self._outage = Outage(
            lambda on: self._waits_for(self._outage.backend if on else "")
        )
        self._stopped = asyncio.Event()
        self._closed = False
        self._failed_in_a_row = 0
        self._has_waited = False
        self._gone: RoleLostError | None = None
        self.on_loading: Callable[[str, float | None], None] = lambda _model, _s: None
        """Called with the name of a model when it begins to be loaded (None), and with
        the seconds that it took; with no name when it cannot be loaded."""
        self._first = first
        self._is_ready = (
            first is None and answerer is None and not isinstance(backend, Startable)
        )
        self._loading: asyncio.Task[None] | None = None

    def _waits_for(self, what: str) -> None:
        self.on_outage(what)

    def _has_room(self) -> None:
        self.on_room()

    def plays(self, roles: Sequence[str]) -> None:
        """Name the roles that it plays, for messages."""
        self._outage.backend = f"the {' and '.join(roles)}"

    @property
    def width(self) -> int:
        """How many calls keep it busy: one a connection, or some batches of a local
        model."""
        return (self.batcher or self.limiter).width

    @property
    def in_flight(self) -> int:
        """Calls sent and not yet answered; of a local model, those that are in a
        batch."""
        return (self.batcher or self.limiter).in_flight

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    def payee(self, role: str) -> Payee | None:
        """Who is paid for a call of a role; None where this backend is not called for
        it."""
        if self.samples is not None or self.programs is not None:
            return None
        payee = self._payees.get(role)
        if payee is None:
            local = self._local or isinstance(self.backend, LocalWork)
            payee = self._payees[role] = Payee(
                role, self.billed, local, str(self.identity.get("base_url", ""))
            )
        return payee

    async def ask(
        self, request: Request, ticket: Ticket, failed: Tries | None = None
    ) -> tuple[Response, int]:
        """The answer and how many tries failed before it; failed calls are retried.
        Errors of the connection are retried within the limits. ``failed`` counts the
        tries, also where this raises.

        Raises KeyRefusedError, StartFailedError and BackendDownError, from then on at
        every call: no call waits for what is gone. Raises StoppedError for a call that
        was not made when the run was stopped.
        """
        tries = refusals = 0
        while True:
            response: Response | None
            if self._outage.on:
                response = await self._look(request, ticket)
                if response is None:  # another call has found it
                    continue
            else:
                response = await self._once(request, ticket)
                self._outage.note(response.error)
            error = response.error
            if error is None:
                self._failed_in_a_row = 0
                self.limiter.succeeded()
                return response, tries + refusals
            if error.kind == "unreachable":
                # it was not sent, so it has not failed: it waits with the others
                continue
            if self._closed:
                # by this process: that is not a failure of the call
                raise StoppedError("the call was given up")
            if error.kind not in UNANSWERED:
                request = request.replied()
            ticket = replace(ticket, attempt=ticket.attempt + 1)
            if failed is not None:
                failed.note(response)
            if error.kind == "auth":
                self._gone = KeyRefusedError(
                    self._outage.told(error.message), "fix the key"
                )
                raise self._gone
            if error.kind == "rate_limit" and refusals < RATE_LIMIT_TRIES:
                least = min(BACKOFF_CAP, REFUSED_BASE * 2**refusals)
                refusals += 1
                await self._rest(
                    max(least, self.limiter.refused(error.retry_after))
                    * random.uniform(1.0, 1.25)
                )
                continue
            if error.kind not in RETRYABLE or tries >= self.retries:
                return self._give_up(response), tries + refusals
            await self._rest(
                min(BACKOFF_CAP, BACKOFF_BASE * 2**tries) * random.uniform(0.5, 1.0)
            )
            tries += 1

    def stop(self) -> None:
        """Send no more calls: waiting ones raise StoppedError; the others are
        answered."""
        self._stopped.set()
        self.limiter.stop()
        if self.batcher is not None:
            self.batcher.stop(StoppedError("stopped before the call was made"))

    async def close(self) -> None:
        """Close the backend, once."""
        if self._closed:
            return
        self._closed = True
        # calls that the end of the run has left behind must open no connection again
        self.stop()
        if self.batcher is not None:
            await self.batcher.close()
        await self.backend.close()

    async def _load(self) -> None:
        began = time.monotonic()
        self.on_loading(self.billed, None)
        name, seconds = "", None
        try:
            if self._first is not None:
                await OwnThread("mmeval-first").do(self._first)
            if isinstance(self.batcher, Batcher):
                await self.batcher.start()
            elif isinstance(self.backend, Startable):
                await OwnThread("mmeval-start").do(self.backend.start)
            name, seconds = self.billed, time.monotonic() - began
        finally:
            self.on_loading(name, seconds)

    async def _loaded(self) -> None:
        """Wait until the backend is ready, which is loaded with the first call that is
        really sent. Raises StartFailedError, in every waiting call, and StoppedError
        where the run is stopped before that: no call waits for a model that is not
        asked any more."""
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load())
            self._loading.add_done_callback(_seen)
        stopped = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait(
                {self._loading, stopped}, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            stopped.cancel()
        if not self._loading.done():
            raise StoppedError("stopped before the call was made")
        try:
            self._loading.result()
        except StoppedError:
            raise
        except Exception as error:  # a plugin's backend may raise anything
            code = (
                error.exit_code if isinstance(error, MmevalError) else EXIT_UNEXPECTED
            )
            log.debug("%s cannot be started", self._outage.backend, exc_info=error)
            self._gone = StartFailedError(self._outage.backend, message_of(error), code)
            raise self._gone from error
        self._is_ready = True

    async def _look(self, request: Request, ticket: Ticket) -> Response | None:
        """Test a backend that is out of reach with a call in its turn, one at a time;
        None where another has found it."""
        async with self._outage.turn:
            if self._gone is not None:
                raise self._gone
            if not self._outage.on:
                return None
            await self._wait(self._outage.pause())
            response = await self._once(request, ticket)
            self._outage.looked(response.error)
            if response.error is not None and self._outage.endless:
                self._gone = BackendDownError(
                    self._outage.verdict(response.error.message), "bring the backend up"
                )
                raise self._gone
            return response

    async def _rest(self, seconds: float) -> None:
        if seconds >= LONG_WAIT and not self._has_waited:
            self._has_waited = True
            log.warning(
                "%s asks to wait: a call goes on in %.0f s",
                self._outage.backend,
                seconds,
            )
        self.resting += 1
        try:
            self.on_room()
            await self._wait(seconds)
        finally:
            self.resting -= 1

    async def _wait(self, seconds: float) -> None:
        """Wait, but not when the run is stopped meanwhile."""
        await wait(seconds, unless=self._stopped)

    async def _once(self, request: Request, ticket: Ticket) -> Response:
        limiter = self.limiter
        await limiter.acquire()
        started = time.monotonic()
        try:
            if self.stopped:
                raise StoppedError("stopped before the call was made")
            if self._gone is not None:
                raise self._gone
            if not self._is_ready:
                await self._loaded()
            response: object
            if self.send is not None:
                response = await self.send(request, ticket)
            else:
                assert self.model is not None
                response = await self.model.generate(request)
            if not isinstance(response, Response):
                raise TypeError(
                    f"the backend gave {response!r:.200}, which is no Response"
                )
            if response.latency:
                return response
            return replace(response, latency=time.monotonic() - started)
        except MmevalError:
            raise
        # a plugin's backend may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            return Response.failed(
                "internal",
                f"{type(error).__name__}: {error}",
                latency=time.monotonic() - started,
            )
        finally:
            limiter.release()

    def _give_up(self, response: Response) -> Response:
        assert response.error is not None
        gone: tuple[ErrorKind, ...] = ("connection", "timeout", "server")
        self._failed_in_a_row = (
            self._failed_in_a_row + 1 if response.error.kind in gone else 0
        )
        if self._failed_in_a_row >= FAILURES_IN_A_ROW:
            self._gone = BackendDownError(
                self._outage.told(
                    f"{FAILURES_IN_A_ROW} calls in a row failed, the last one with: "
                    f"{response.error.message}"
                ),
                "bring the backend up",
            )
            raise self._gone
        return response


def _seen(task: asyncio.Task[None]) -> None:
    """What the start has raised is known, even where no call waits for it any more."""
    if not task.cancelled():
        task.exception()
