"""Sends the calls of a role to its backend, with a limit, retries and a breaker."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

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
    model_name_of,
)
from mmeval.backend.probe import Probe, ReplyFormat
from mmeval.broker.batcher import Answerer
from mmeval.broker.breaker import Breaker
from mmeval.broker.limiter import wait
from mmeval.broker.loading import Loading
from mmeval.broker.local_role import LocalRole, local_role
from mmeval.broker.observer import RoleObserver
from mmeval.broker.outage import START_SECONDS
from mmeval.broker.scope import Scope
from mmeval.broker.server_role import ServerRole, server_role
from mmeval.errors import MmevalError, StoppedError
from mmeval.program.calls import Call, Program
from mmeval.records.digests import digest
from mmeval.records.request import Request
from mmeval.records.response import RETRYABLE, UNANSWERED, Response
from mmeval.store.call_context import CallContext
from mmeval.store.spending import ModelEndpoint

T = TypeVar("T")
Send: TypeAlias = Callable[[Request, CallContext], Awaitable[Response]]

MAX_RATE_LIMIT_ERRORS = 100
"""Maximum number of rate limit errors of a call.

Because the pauses between retries grow, this takes most of an hour.
"""
BACKOFF_BASE, BACKOFF_CAP = 0.5, 30.0  # seconds
REFUSED_BASE = 0.05
"""Minimum seconds that a call waits after its first rate limit error.

The wait is doubled after each further error.
"""


@dataclass(slots=True)
class FailedAttempts:
    """The number of failed attempts of a call, and the last response."""

    failed: int = 0
    last: Response | None = None

    def note(self, response: Response) -> None:
        self.failed += 1
        self.last = response


def mark_of(identity: Mapping[str, Any]) -> str:
    """Returns the short digest of an identity, which journal keys contain."""
    return digest(identity)[:8]


class ProgramRunner(Protocol):
    """Sends the calls of programs: the broker."""

    async def run(self, program: Program[T], scope: Scope) -> T: ...


class Handshake(Protocol):
    """Asks a backend what it can do (:mod:`mmeval.broker.checks.handshake`)."""

    probes: list[Probe]

    async def cover(self, call: Call, runner: ProgramRunner) -> None: ...


class BackendRuntime:
    """A backend with its limit, its retries and its breaker.

    ``limit`` is the maximum number of calls in flight to a server. ``first`` runs in a
    thread before the first call. If it raises an error, the backend is lost.
    ``answerer`` answers the batches of a local model, by default in a thread of this
    process. ``notes`` is the folder in which a server's batches are recorded, so that a
    later session finds them. Without this folder, no batches are used. ``patience`` is
    the number of seconds to wait for a backend that has never answered.
    """

    # The properties are read only once, since isinstance with a protocol is slow.

    backend: AnyBackend
    declared: Capabilities
    """The capabilities that the backend declares."""
    capabilities: Capabilities
    """The declared capabilities without those that a handshake denies."""
    identity: Mapping[str, Any]
    mark: str
    """The short digest of the identity, which journal keys contain."""
    model: ModelBackend | None
    """The backend if it answers one request at a time, else None."""
    samples: SampleBackend | None
    """The backend if it answers from the sample, else None."""
    programs: ProgramBackend | None
    """The backend if its program calls other roles, else None."""
    in_place: bool
    """True if the media of its answers are files of the data set.

    They are not copied.
    """
    role: ServerRole | LocalRole
    send: Send | None
    """Sends one request instead of ``model.generate``. A budget wraps either of
    them."""
    observer: RoleObserver
    handshake: Handshake | None
    """Asks the backend what it can do before the first calls that need it.

    It is None if the declared capabilities are used without asking.
    """
    reply_format: ReplyFormat | None
    """How the backend is asked for JSON, once a handshake has found a way."""
    _retries: int
    _breaker: Breaker
    _loading: Loading
    _endpoints: dict[str, ModelEndpoint]
    """The endpoint of each role."""
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
        patience: float = START_SECONDS,
    ) -> None:
        self.backend = backend
        self.declared = backend.capabilities
        self.capabilities = self.declared
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
            # another backend gives other answers to the same requests
            folder = None if notes is None else notes / self.mark
            self.role = server_role(backend, live, limit, folder, self.observer)
        self.send = None if self.role.batcher is None else self.role.batcher.ask

        self.handshake = None
        self.reply_format = None
        self._retries = retries
        self._breaker = Breaker(self.observer)
        self._breaker.outage.start_seconds = patience
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
        """Sets the roles that use this backend. Messages name these roles."""
        self._breaker.outage.backend = f"the {' and '.join(roles)}"

    @property
    def model_name(self) -> str:
        return model_name_of(self.identity)

    @property
    def stopped(self) -> bool:
        return self.role.limiter.stopped.is_set()

    def endpoint(self, role: str) -> ModelEndpoint | None:
        """Returns the endpoint for a role's calls, or None if there is no endpoint."""
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
        self,
        request: Request,
        context: CallContext,
        failed_attempts: FailedAttempts | None = None,
    ) -> tuple[Response, int]:
        """Returns the answer and the number of failed attempts before it.

        Failed calls are retried. ``failed_attempts`` counts these attempts, even if an
        error is raised.

        If the backend is lost, this call and every later call raise KeyRefusedError,
        StartFailedError or BackendDownError. Raises StoppedError for a call that was
        not sent before the run stopped.
        """
        retries = refusals = 0
        breaker, limiter = self._breaker, self.role.limiter
        while True:
            response: Response | None
            if breaker.outage.is_on:
                response = await self._test(request, context)
                if response is None:  # another call has reached it
                    continue
            else:
                response = await self._attempt(request, context)
                breaker.outage.note(response.error)
            error = response.error
            if error is None:
                breaker.failed_in_a_row = 0
                limiter.succeeded()
                return response, retries + refusals
            if error.kind == "unreachable":
                # the call was not sent, so it does not count as a failure
                continue
            if self._is_closed:
                # this process ended the connection, so the call did not fail
                raise StoppedError("the call was cancelled")
            if error.kind not in UNANSWERED:
                request = request.replied()
            context = replace(context, attempt=context.attempt + 1)
            if failed_attempts is not None:
                failed_attempts.note(response)
            if error.kind == "auth":
                raise breaker.refuse_key(error)
            if error.kind == "rate_limit" and refusals < MAX_RATE_LIMIT_ERRORS:
                min_pause = min(BACKOFF_CAP, REFUSED_BASE * 2**refusals)
                pause = max(min_pause, limiter.refused(error.retry_after))
                refusals += 1
                await self._pause(pause * random.uniform(1.0, 1.25))
                continue
            if error.kind not in RETRYABLE or retries >= self._retries:
                breaker.count(error)
                return response, retries + refusals
            pause = min(BACKOFF_CAP, BACKOFF_BASE * 2**retries)
            await self._pause(pause * random.uniform(0.5, 1.0))
            retries += 1

    async def _test(self, request: Request, context: CallContext) -> Response | None:
        """Tests an unreachable backend with this call, one call at a time.

        Returns None if another call has reached the backend in the meantime.
        """
        outage = self._breaker.outage
        async with outage.turn:
            self._breaker.check()
            if not outage.is_on:
                return None
            await wait(outage.pause(), unless=self.role.limiter.stopped)
            response = await self._attempt(request, context)
            outage.note_test(response.error)
            if response.error is not None and outage.has_expired:
                raise self._breaker.give_up(outage.reason(response.error.message))
            return response

    async def _attempt(self, request: Request, context: CallContext) -> Response:
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
                raise TypeError(f"the backend gave {response!r:.200}, not a Response")
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
        """Waits until the backend is loaded.

        Raises StartFailedError in every waiting call, and StoppedError if the run is
        stopped first.
        """
        try:
            await self._loading.wait(unless=self.role.limiter.stopped)
        except StoppedError:
            raise
        except Exception as error:  # a plugin's backend may raise anything
            raise self._breaker.cannot_start(error) from error

    async def _pause(self, seconds: float) -> None:
        """Waits before a retry, without using a connection."""
        self._breaker.warn_of_pause(seconds)
        self.observer.resting += 1
        try:
            self.observer.room()
            await wait(seconds, unless=self.role.limiter.stopped)
        finally:
            self.observer.resting -= 1

    def stop(self) -> None:
        """Sends no more calls. Waiting calls raise StoppedError. The other calls
        finish."""
        self.role.limiter.stop()
        if self.role.batcher is not None:
            self.role.batcher.stop(StoppedError("stopped before the call was made"))

    async def close(self) -> None:
        """Closes the backend, once."""
        if self._is_closed:
            return
        self._is_closed = True
        # calls that still wait must not open a connection again
        self.stop()
        if self.role.batcher is not None:
            await self.role.batcher.close()
        await self.backend.close()
