"""Roles: the backends of a run by the name they play, each with its limit, its retries and its breaker."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
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
from mmeval.errors import MissingError, MmevalError, UsageError, did_you_mean
from mmeval.limiter import Limiter
from mmeval.options import BackendSpec
from mmeval.records import RETRYABLE, ErrorKind, Request, Response
from mmeval.task import Selection, Task
from mmeval.taskrun import MODEL

log = logging.getLogger(__name__)

RATE_LIMIT_TRIES = 100
"""How often a call may be refused for its rate; each time the whole role waits, so this is hours, not seconds."""
NO_LIMIT = 1 << 30
FAILURES_IN_A_ROW = 50
"""So many calls that all fail after their retries mean that the backend is gone."""
BACKOFF_BASE, BACKOFF_CAP = 0.5, 30.0  # seconds


class BackendDownError(MmevalError):
    """A role stopped answering altogether; the run stops instead of failing sample after sample."""

    exit_code = 3


class StoppedError(MmevalError):
    """The user stopped the run before this call was made; its trial is neither answered nor failed."""


class KeyRefusedError(MissingError):
    """The server does not accept the key: no call of this run can succeed."""


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
        self.mark = digest(self.identity)[:8]
        self.samples = backend if isinstance(backend, SampleBackend) else None
        self.programs = backend if isinstance(backend, ProgramBackend) else None
        self.model = backend if isinstance(backend, ModelBackend) else None
        # A local model's batches are its limit: calls wait in the batcher, where they can be put together.
        self.limiter = Limiter(NO_LIMIT if isinstance(backend, BatchBackend) else limit)
        self.retries = retries
        self.stopping = False
        self.batcher = Batcher(backend, live, max_batch_size) if isinstance(backend, BatchBackend) else None
        self._failed_in_a_row = 0
        self._gone: MmevalError | None = None

    async def ask(self, request: Request, trial: str) -> tuple[Response, int]:
        """The answer and how many tries failed before it. Retries errors of the way, within the limits.

        Raises KeyRefusedError and BackendDownError, from then on at every call: nobody waits for what is gone.
        """
        if self._gone is not None:
            raise self._gone
        tries = refusals = 0
        while True:
            response = await self._once(request, trial)
            error = response.error
            if error is None:
                self._failed_in_a_row = 0
                self.limiter.succeeded()
                return response, tries + refusals
            if error.kind == "auth":
                self._gone = KeyRefusedError(
                    f"{error.message}. What was answered is kept: fix the key, then run the same command"
                )
                raise self._gone
            if error.kind == "rate_limit" and refusals < RATE_LIMIT_TRIES:
                refusals += 1
                self.limiter.slow_down(error.retry_after)
                continue
            if error.kind not in RETRYABLE or tries >= self.retries:
                return self._give_up(response), tries + refusals
            await asyncio.sleep(min(BACKOFF_CAP, BACKOFF_BASE * 2**tries) * random.uniform(0.5, 1.0))
            tries += 1

    async def close(self) -> None:
        if self.batcher is not None:
            self.batcher.close()
        await self.backend.close()

    async def _once(self, request: Request, trial: str) -> Response:
        limiter = self.limiter
        await limiter.acquire()
        started = time.monotonic()
        try:
            if self.stopping:
                raise StoppedError("stopped before the call was made")
            if self.batcher is not None:
                return await self.batcher.ask(request, trial)
            assert self.model is not None
            response = await self.model.generate(request)
            return response if response.latency else replace(response, latency=time.monotonic() - started)
        except MmevalError:
            raise
        except (Exception, SystemExit) as error:  # a backend may fail in any way; the call records how
            return Response.failed("internal", f"{type(error).__name__}: {error}", latency=time.monotonic() - started)
        finally:
            limiter.release()

    def _give_up(self, response: Response) -> Response:
        assert response.error is not None
        gone: tuple[ErrorKind, ...] = ("connection", "timeout", "server")
        self._failed_in_a_row = self._failed_in_a_row + 1 if response.error.kind in gone else 0
        if self._failed_in_a_row >= FAILURES_IN_A_ROW:
            self._gone = BackendDownError(
                f"{FAILURES_IN_A_ROW} calls in a row failed, the last one with: {response.error.message}. "
                "What was answered is kept: bring the backend up, then run the same command"
            )
            raise self._gone
        return response


ROLE_LIMIT = "max_connections"
"""Among the arguments of a role: how many of its calls may be in flight, where ``--max_connections`` is not meant."""


class Backends:
    """The backends of a run by role; equal specs share one instance and its limit."""

    def __init__(self, specs: Mapping[str, BackendSpec]) -> None:
        self.named: dict[str, AnyBackend] = {}
        self._limits: dict[int, int] = {}
        made: dict[str, AnyBackend] = {}
        for role, spec in specs.items():
            key = digest([spec.name, dict(spec.args)])
            if key not in made:
                args = {name: value for name, value in spec.args.items() if name != ROLE_LIMIT}
                made[key] = create_backend(spec.name, args)
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
        for backend in self.named.values():
            if id(backend) not in made:
                made[id(backend)] = RoleRuntime(
                    backend,
                    limit=self._limits.get(id(backend), limit),
                    retries=retries,
                    live=live,
                    max_batch_size=max_batch_size,
                )
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


def say_unbatched(backends: Mapping[str, AnyBackend], batch_size: int) -> None:
    """A batch size that has no effect is said, not refused: commands are often shared between backends."""
    if batch_size and not any(isinstance(backend, BatchBackend) for backend in backends.values()):
        log.warning(
            "--batch_size %d has no effect: this backend takes one request at a time, --max_connections bounds how "
            "many are in flight",
            batch_size,
        )
