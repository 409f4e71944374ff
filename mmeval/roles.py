"""Roles: the backends of a run by the name they play, each with its limit, its retries and its breaker."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmeval.backend import (
    AnyBackend,
    BatchBackend,
    ModelBackend,
    ProgramBackend,
    SampleBackend,
    create_backend,
)
from mmeval.batching import Batcher
from mmeval.digest import digest
from mmeval.errors import EXIT_INCOMPLETE, EXIT_MISSING, MissingError, MmevalError, UsageError, did_you_mean
from mmeval.limiter import Limiter, wait
from mmeval.options import BackendSpec
from mmeval.outage import Outage
from mmeval.prices import billed_name
from mmeval.records import RETRYABLE, ErrorKind, Request, Response
from mmeval.spending import Payee
from mmeval.task import Selection, Task
from mmeval.taskrun import MODEL, judge_identity

log = logging.getLogger(__name__)

RATE_LIMIT_TRIES = 100
"""How often a call may be refused for its rate; it waits longer each time, so this is most of an hour, not seconds."""
NO_LIMIT = 1 << 30
FAILURES_IN_A_ROW = 50
"""So many calls that all fail after their retries mean that the backend is gone."""
BACKOFF_BASE, BACKOFF_CAP = 0.5, 30.0  # seconds
REFUSED_BASE = 0.05
"""Seconds that a call waits after its first refusal where the server asks for less, doubled with each one."""


class RoleLostError(MmevalError):
    """A role answers no call of this run any more: ``reason`` says why, ``way_out`` what to do first."""

    def __init__(self, reason: str, way_out: str) -> None:
        self.reason, self.way_out = reason, way_out
        super().__init__(f"{reason}. What was answered is kept: {way_out}, then run the same command")


class BackendDownError(RoleLostError):
    """A role stopped answering altogether; the run stops instead of failing sample after sample."""

    exit_code = EXIT_INCOMPLETE


class StoppedError(MmevalError):
    """The user stopped the run before this call was made; its trial is neither answered nor failed."""


class KeyRefusedError(RoleLostError, MissingError):
    """The server does not accept the key: no call of this run can succeed."""

    exit_code = EXIT_MISSING


@dataclass(slots=True)
class Tries:
    """The tries of one call that have failed so far: how many, and what the last of them brought."""

    failed: int = 0
    last: Response | None = None

    def note(self, response: Response) -> None:
        self.failed += 1
        self.last = response


def mark_of(identity: Mapping[str, Any]) -> str:
    """Names in the journal who has answered."""
    return digest(identity)[:8]


class RoleRuntime:
    """A role's backend with its limits and retries.

    What a backend is and can do is looked up once: protocols and properties are too slow to ask at every call.
    """

    def __init__(
        self,
        backend: AnyBackend,
        *,
        limit: int,
        retries: int,
        live: Callable[[], int],
        max_batch_size: int = 0,
    ) -> None:
        self.backend = backend
        self.capabilities = backend.capabilities
        self.identity = dict(backend.identity)
        self.mark = mark_of(self.identity)
        self.billed = billed_name(self.identity)
        self.samples = backend if isinstance(backend, SampleBackend) else None
        self.programs = backend if isinstance(backend, ProgramBackend) else None
        self.model = backend if isinstance(backend, ModelBackend) else None
        # A local model's batches are its limit: calls wait in the batcher, where they can be put together.
        self.limiter = Limiter(NO_LIMIT if isinstance(backend, BatchBackend) else limit)
        self.retries = retries
        self.resting = 0
        """Calls that wait before they are sent again; they hold no connection meanwhile."""
        self.on_rest: Callable[[], None] = lambda: None
        self.batcher = Batcher(backend, live, max_batch_size) if isinstance(backend, BatchBackend) else None
        self.send: Callable[[Request, str], Awaitable[Response]] = (
            self._send if self.batcher is None else self.batcher.ask
        )
        """Makes one call. A budget puts itself around it."""
        self._payees: dict[str, Payee] = {}
        self.on_outage: Callable[[str], None] = lambda _whom: None
        """Told whom every call waits for when an outage begins, and nobody (an empty text) when it is over."""
        self._outage = Outage(lambda on: self.on_outage(self._outage.whom if on else ""))
        self._stopped = asyncio.Event()
        self._failed_in_a_row = 0
        self._gone: RoleLostError | None = None

    def plays(self, roles: Sequence[str]) -> None:
        """Name the roles that it plays, for messages."""
        self._outage.whom = f"the {' and '.join(roles)}"

    @property
    def width(self) -> int:
        """How many calls keep it busy: a connection each, or two batches of a local model, of which one is collected
        while it is at work on the other."""
        return self.limiter.limit if self.batcher is None else 2 * self.batcher.size

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    def payee(self, role: str) -> Payee | None:
        """Who is paid for a call of a role; None where answering it takes no call of this backend."""
        if self.samples is not None or self.programs is not None:
            return None
        payee = self._payees.get(role)
        if payee is None:
            payee = self._payees[role] = Payee(role, self.billed, self.batcher is not None)
        return payee

    async def ask(self, request: Request, trial: str, failed: Tries | None = None) -> tuple[Response, int]:
        """The answer and how many tries failed before it. Retries errors of the way, within the limits. ``failed``
        counts the tries that failed as they come, so that they are known where this raises.

        Raises KeyRefusedError and BackendDownError, from then on at every call: nobody waits for what is gone. Raises
        StoppedError for a call that was not made when the run was stopped.
        """
        tries = refusals = 0
        while True:
            response = await self._within_reach(request, trial)
            error = response.error
            if error is None:
                self._failed_in_a_row = 0
                self.limiter.succeeded()
                return response, tries + refusals
            if failed is not None:
                failed.note(response)
            if error.kind == "auth":
                self._gone = KeyRefusedError(self._outage.told(error.message), "fix the key")
                raise self._gone
            if error.kind == "rate_limit" and refusals < RATE_LIMIT_TRIES:
                least = min(BACKOFF_CAP, REFUSED_BASE * 2**refusals)
                refusals += 1
                await self._rest(max(least, self.limiter.refused(error.retry_after)) * random.uniform(1.0, 1.25))
                continue
            if error.kind not in RETRYABLE or tries >= self.retries:
                return self._give_up(response), tries + refusals
            await self._rest(min(BACKOFF_CAP, BACKOFF_BASE * 2**tries) * random.uniform(0.5, 1.0))
            tries += 1

    def stop(self) -> None:
        """From now on no call is sent; those in flight are answered, and those that wait raise StoppedError."""
        self._stopped.set()
        self.limiter.stop()

    async def close(self) -> None:
        if self.batcher is not None:
            self.batcher.close()
        await self.backend.close()

    async def _within_reach(self, request: Request, trial: str) -> Response:
        """What the backend says. While it cannot be reached, calls wait, and one at a time looks whether it can: none
        of them has been sent, so none has failed."""
        while True:
            if self._outage.on:
                response = await self._look(request, trial)
            else:
                response = await self._once(request, trial)
                self._outage.note(response.error)
            if response is not None and (response.error is None or response.error.kind != "unreachable"):
                return response

    async def _look(self, request: Request, trial: str) -> Response | None:
        """Send a call when it is its turn to look for the backend; None where another has found it meanwhile."""
        async with self._outage.turn:
            if self._gone is not None:
                raise self._gone
            if not self._outage.on:
                return None
            await self._wait(self._outage.pause())
            response = await self._once(request, trial)
            self._outage.looked(response.error)
            if response.error is not None and self._outage.endless:
                self._gone = BackendDownError(self._outage.verdict(response.error.message), "bring the backend up")
                raise self._gone
            return response

    async def _rest(self, seconds: float) -> None:
        self.resting += 1
        try:
            self.on_rest()
            await self._wait(seconds)
        finally:
            self.resting -= 1

    async def _wait(self, seconds: float) -> None:
        """Wait, but not when the run is stopped meanwhile."""
        await wait(seconds, unless=self._stopped)

    async def _once(self, request: Request, trial: str) -> Response:
        limiter = self.limiter
        await limiter.acquire()
        started = time.monotonic()
        try:
            if self.stopped:
                raise StoppedError("stopped before the call was made")
            if self._gone is not None:
                raise self._gone
            response = await self.send(request, trial)
            return response if response.latency else replace(response, latency=time.monotonic() - started)
        except MmevalError:
            raise
        except (Exception, SystemExit) as error:  # a backend may fail in any way; the call records how
            return Response.failed("internal", f"{type(error).__name__}: {error}", latency=time.monotonic() - started)
        finally:
            limiter.release()

    def _send(self, request: Request, _trial: str) -> Awaitable[Response]:
        assert self.model is not None
        return self.model.generate(request)

    def _give_up(self, response: Response) -> Response:
        assert response.error is not None
        gone: tuple[ErrorKind, ...] = ("connection", "timeout", "server")
        self._failed_in_a_row = self._failed_in_a_row + 1 if response.error.kind in gone else 0
        if self._failed_in_a_row >= FAILURES_IN_A_ROW:
            self._gone = BackendDownError(
                self._outage.told(
                    f"{FAILURES_IN_A_ROW} calls in a row failed, the last one with: {response.error.message}"
                ),
                "bring the backend up",
            )
            raise self._gone
        return response


ROLE_LIMIT = "max_connections"
"""Among the arguments of a role: how many of its calls may be in flight, where ``--max_connections`` is not meant."""


class Backends:
    """The backends of a run by role; equal specs share one instance and its limit."""

    def __init__(self, specs: Mapping[str, BackendSpec]) -> None:
        self.specs = dict(specs)
        self.named: dict[str, AnyBackend] = {}
        self._limits: dict[int, int] = {}
        made: dict[str, AnyBackend] = {}
        for role, spec in specs.items():
            key = digest([spec.name, dict(spec.args)]) if spec.instance is None else f"instance {id(spec.instance)}"
            if key not in made:
                args = {name: value for name, value in spec.args.items() if name != ROLE_LIMIT}
                made[key] = create_backend(spec.name, args) if spec.instance is None else spec.instance
                if ROLE_LIMIT in spec.args:
                    self._limits[id(made[key])] = _positive(spec.args[ROLE_LIMIT])
            self.named[role] = made[key]

    def identities(self, selection: Selection) -> dict[str, Any]:
        """Who makes the answers: the model, and for an agent every role that it may ask, which are all but judges."""
        model = self.named[MODEL]
        found: dict[str, Any] = {"model": dict(model.identity)}
        if isinstance(model, ProgramBackend):
            judges = {role for task in selection for metric in task.metrics for role in metric.bound.metric.roles}
            helpers = {role for role in self.named if role not in judges} - {MODEL}
            found["roles"] = {role: dict(self.named[role].identity) for role in sorted(helpers)}
        return found

    def runtimes(
        self, live: Callable[[], int], *, limit: int, retries: int, max_batch_size: int = 0
    ) -> dict[str, RoleRuntime]:
        """How each role is asked; roles with the same backend share its limit."""
        made: dict[int, RoleRuntime] = {}
        for role, backend in self.named.items():
            if id(backend) not in made:
                made[id(backend)] = RoleRuntime(
                    backend,
                    limit=self._limits.get(id(backend), limit),
                    retries=retries,
                    live=live,
                    max_batch_size=max_batch_size,
                )
                if role != MODEL:  # whom the model asks is part of the run's identity
                    made[id(backend)].mark = mark_of(judge_identity(role, self.named))
        for runtime in made.values():
            runtime.plays([role for role, backend in self.named.items() if backend is runtime.backend])
        return {role: made[id(backend)] for role, backend in self.named.items()}


def _positive(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{ROLE_LIMIT}={value!r}: must be a whole number above 0")
    return value


def check_roles(backends: Mapping[str, AnyBackend], tasks: Sequence[Task]) -> None:
    """Raises UsageError for a role that nobody asks: no metric and no task file names it, and nobody is an agent, which
    may ask any."""
    if any(isinstance(backend, ProgramBackend) for backend in backends.values()):
        return
    asked = {role for task in tasks for role in task.roles}
    asked |= {role for task in tasks for metric in task.metrics for role in metric.bound.metric.roles}
    for role in backends:
        if role != MODEL and role not in asked:
            whom = f"they ask {', '.join(sorted(asked))}" if asked else "they ask the model alone"
            raise UsageError(f"--role {role}: no chosen task asks this role{did_you_mean(role, asked)} ({whom})")


def check_role_names(roles: Iterable[str], tasks: Sequence[Task]) -> None:
    """Raises UsageError for a role that nobody asks and that looks like a misspelt one, before its backend is made."""
    asked = {role for task in tasks for role in task.roles}
    asked |= {role for task in tasks for metric in task.metrics for role in metric.bound.metric.roles}
    for role in roles:
        if role not in (MODEL, *asked) and (near := did_you_mean(role, asked)):
            raise UsageError(f"--role {role}: no chosen task asks this role{near}")


def say_unbatched(backends: Mapping[str, AnyBackend], batch_size: int) -> None:
    """A batch size that has no effect is said, not refused: commands are often shared between backends."""
    if batch_size and not any(isinstance(backend, BatchBackend) for backend in backends.values()):
        log.warning(
            "--batch_size %d has no effect: this backend takes one request at a time, --max_connections bounds how "
            "many are in flight",
            batch_size,
        )
