"""Roles: how a backend is asked, with its limit, its retries and its breaker."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from mmeval.backend.batch_size import AUTO, BatchSize
from mmeval.backend.capabilities import Capabilities
from mmeval.backend.contract import (
    AnyBackend,
    BatchBackend,
    LocalWork,
    ModelBackend,
    ProgramBackend,
    SampleBackend,
    Startable,
    WholeAnswers,
    asked_model,
)
from mmeval.broker.batcher import Answerer
from mmeval.broker.breaker import Breaker
from mmeval.broker.limiter import wait
from mmeval.broker.loading import Loading
from mmeval.broker.local_role import LocalRole, local_role
from mmeval.broker.observer import RoleObserver
from mmeval.broker.server_role import ServerRole, server_role
from mmeval.errors import MmevalError, StoppedError
from mmeval.records.digests import digest
from mmeval.records.request import Request
from mmeval.records.response import RETRYABLE, UNANSWERED, Response
from mmeval.store.call_context import CallContext
from mmeval.store.spending import ModelEndpoint

Send: TypeAlias = Callable[[Request, CallContext], Awaitable[Response]]

RATE_LIMIT_TRIES = 100
"""How often a call may be refused for its rate; it waits longer each time, so this is
most of an hour, not seconds."""
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
    """A backend as the broker asks it, with its retries and its breaker.

    ``limit`` is how many calls of a server may be in flight. ``first`` is done in a
    thread before anything is asked; what it raises keeps the backend from being asked.
    ``answerer`` answers the batches of a local model; by default a thread of this
    process does. ``notes`` is the folder for the batches of all servers, by which they
    are found again; without it a server gets none.

    What a backend is and can do is looked up once: protocols and properties are too
    slow to ask at every call.
    """

    backend: AnyBackend
    capabilities: Capabilities
    identity: Mapping[str, Any]
    mark: str
    """Names in the journal who has answered."""
    model: ModelBackend | None
    """The backend, where it answers one request at a time."""
    samples: SampleBackend | None
    """The backend, where it answers from the sample."""
    programs: ProgramBackend | None
    """The backend, where its program asks other roles."""
    in_place: bool
    """Whether the media of its answers are files of the data set, which stay where they
    are."""
    role: ServerRole | LocalRole
    send: Send | None
    """Makes one call in place of ``generate`` of the model. A budget puts itself around
    both."""
    observer: RoleObserver
    _retries: int
    _breaker: Breaker
    _loading: Loading
    _endpoints: dict[str, ModelEndpoint]
    """Who is paid, by role."""
    _is_closed: bool

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
        self.model = backend if isinstance(backend, ModelBackend) else None
        self.samples = backend if isinstance(backend, SampleBackend) else None
        self.programs = backend if isinstance(backend, ProgramBackend) else None
        is_whole = isinstance(backend, WholeAnswers)
        self.in_place = self.samples is not None and not is_whole

        self.observer = RoleObserver()
        if isinstance(backend, BatchBackend):
            self.role = local_role(backend, live, batch_size, answerer, self.observer)
        else:
            # another backend has other answers to the same requests
            own_notes = None if notes is None else notes / self.mark
            self.role = server_role(backend, live, limit, own_notes, self.observer)
        self.send = None if self.role.batcher is None else self.role.batcher.ask

        self._retries = retries
        self._breaker = Breaker(self.observer)
        self._loading = Loading(
            self.model_name,
            self.observer,
            first=first,
            start=self.role.start,
            is_needed=first is not None
            or answerer is not None
            or isinstance(backend, Startable),
        )
        self._endpoints = {}
        self._is_closed = False

    def plays(self, roles: Sequence[str]) -> None:
        """Name the roles that it plays, for messages."""
        self._breaker.outage.backend = f"the {' and '.join(roles)}"

    @property
    def model_name(self) -> str:
        return asked_model(self.identity)

    @property
    def stopped(self) -> bool:
        return self.role.limiter.stopped.is_set()

    def endpoint(self, role: str) -> ModelEndpoint | None:
        """Who is paid for a call of a role; None where this backend is not called for
        it."""
        if self.samples is not None or self.programs is not None:
            return None
        endpoint = self._endpoints.get(role)
        if endpoint is None:
            is_local = isinstance(self.backend, BatchBackend | LocalWork)
            address = str(self.identity.get("base_url", ""))
            endpoint = ModelEndpoint(role, self.model_name, is_local, address)
            self._endpoints[role] = endpoint
        return endpoint

    async def ask(
        self, request: Request, context: CallContext, failed: Tries | None = None
    ) -> tuple[Response, int]:
        """The answer and how many tries failed before it; failed calls are retried.
        Errors of the connection are retried within the limits. ``failed`` counts the
        tries, also where this raises.

        Raises KeyRefusedError, StartFailedError and BackendDownError, from then on at
        every call: no call waits for what is gone. Raises StoppedError for a call that
        was not made when the run was stopped.
        """
        tries = refusals = 0
        breaker, limiter = self._breaker, self.role.limiter
        while True:
            response: Response | None
            if breaker.outage.on:
                response = await self._look(request, context)
                if response is None:  # another call has found it
                    continue
            else:
                response = await self._once(request, context)
                breaker.outage.note(response.error)
            error = response.error
            if error is None:
                breaker.failed_in_a_row = 0
                limiter.succeeded()
                return response, tries + refusals
            if error.kind == "unreachable":
                # it was not sent, so it has not failed: it waits with the others
                continue
            if self._is_closed:
                # by this process: that is not a failure of the call
                raise StoppedError("the call was given up")
            if error.kind not in UNANSWERED:
                request = request.replied()
            context = replace(context, attempt=context.attempt + 1)
            if failed is not None:
                failed.note(response)
            if error.kind == "auth":
                raise breaker.refuse_key(error)
            if error.kind == "rate_limit" and refusals < RATE_LIMIT_TRIES:
                least = min(BACKOFF_CAP, REFUSED_BASE * 2**refusals)
                pause = max(least, limiter.refused(error.retry_after))
                refusals += 1
                await self._rest(pause * random.uniform(1.0, 1.25))
                continue
            if error.kind not in RETRYABLE or tries >= self._retries:
                breaker.count(error)
                return response, tries + refusals
            pause = min(BACKOFF_CAP, BACKOFF_BASE * 2**tries)
            await self._rest(pause * random.uniform(0.5, 1.0))
            tries += 1

    async def _look(self, request: Request, context: CallContext) -> Response | None:
        """Test a backend that is out of reach with a call in its turn, one at a time;
        None where another has found it."""
        outage = self._breaker.outage
        async with outage.turn:
            self._breaker.check()
            if not outage.on:
                return None
            await wait(outage.pause(), unless=self.role.limiter.stopped)
            response = await self._once(request, context)
            outage.looked(response.error)
            if response.error is not None and outage.endless:
                raise self._breaker.give_up(outage.verdict(response.error.message))
            return response

    async def _once(self, request: Request, context: CallContext) -> Response:
        limiter = self.role.limiter
        await limiter.acquire()
        started = time.monotonic()
        try:
            if limiter.stopped.is_set():
                raise StoppedError("stopped before the call was made")
            self._breaker.check()
            if not self._loading.is_done:
                await self._loaded()
            response: object
            if self.send is not None:
                response = await self.send(request, context)
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

    async def _loaded(self) -> None:
        """Wait until the backend is loaded. Raises StartFailedError, in every waiting
        call, and StoppedError where the run is stopped before that."""
        try:
            await self._loading.wait(unless=self.role.limiter.stopped)
        except StoppedError:
            raise
        except Exception as error:  # a plugin's backend may raise anything
            raise self._breaker.cannot_start(error) from error

    async def _rest(self, seconds: float) -> None:
        """Let a call wait before it is sent again; it holds no connection meanwhile."""
        self._breaker.warn_of_pause(seconds)
        self.observer.resting += 1
        try:
            self.observer.room()
            await wait(seconds, unless=self.role.limiter.stopped)
        finally:
            self.observer.resting -= 1

    def stop(self) -> None:
        """Send no more calls: waiting ones raise StoppedError; the others are
        answered."""
        self.role.limiter.stop()
        if self.role.batcher is not None:
            self.role.batcher.stop(StoppedError("stopped before the call was made"))

    async def close(self) -> None:
        """Close the backend, once."""
        if self._is_closed:
            return
        self._is_closed = True
        # calls that the end of the run has left behind must open no connection again
        self.stop()
        if self.role.batcher is not None:
            await self.role.batcher.close()
        await self.backend.close()
