"""The broker runs programs and gets an answer to each of their calls.

An answer comes from the journal or from a backend. A new answer is journalled before
the program continues. This module replays answers, shares an answer between equal
calls, and repeats a call if its reply is not acceptable. The roles implement limits and
retries (:mod:`mmeval.broker.runtime`).

An *attempt* is one request that is sent. A *draw* is one reply with its own seed. A
draw takes several attempts if requests fail. If a reply is not acceptable, the call
needs a further draw.

A call passes through ``run``, ``_answer``, ``_ask`` and ``_draw``, then through ``ask``
and ``_attempt`` of its role, to the backend.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from mmeval.backend.sendable import Sendable, route_mark, sendable
from mmeval.broker.acceptance import checked, fault_of, with_warnings
from mmeval.broker.checks.unread_media import unread_media
from mmeval.broker.runtime import BackendRuntime, FailedAttempts
from mmeval.broker.scope import KeyedCall, Patience, Scope, Transcript
from mmeval.errors import ReplayMismatchError, StorageError, sentence
from mmeval.program.calls import Call, Program, Reply, next_calls, with_paths
from mmeval.records.digests import call_seed, line_digest
from mmeval.records.request import ReplySchema, Request
from mmeval.records.response import ErrorInfo, Response
from mmeval.store.call_context import NO_CONTEXT
from mmeval.store.journal import Journal, JournalEntry
from mmeval.store.response_cache import ResponseCache
from mmeval.system.json_lines import to_line

T = TypeVar("T")

log = logging.getLogger(__name__)

MAX_DRAWS = 3
"""Maximum number of draws until ``Call.accept`` accepts a reply.

Each draw has a cost.
"""
CONVERTING = 2
"""Number of threads that convert media. It is small because decoding takes memory."""
LAST_TURNS = 20
"""Number of event loop iterations within which a reply gets from its connection into
the journal.

The number includes a margin.
"""


class Broker:
    """Runs programs with the roles of one run.

    ``roles`` maps names to runtimes. A call to any other role gets a reply with an
    ``unsupported`` error. ``nonce`` is unique to the run. With the nonce, the
    idempotency keys of requests are unique. If it is empty, requests have no
    idempotency key.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        seed: int = 0,
        nonce: str = "",
        cache: ResponseCache | None = None,
        reasoning_tags: tuple[str, str] | None = None,
    ) -> None:
        self.journal = journal
        self.roles: dict[str, BackendRuntime] = {}
        self.live_trials = 0
        """Number of trials in progress. A batch may wait for their calls."""
        self._seed = seed
        self._nonce = nonce
        self._cache = cache
        self._tags = reasoning_tags
        self._flights: dict[str, asyncio.Future[JournalEntry]] = {}
        self._converting: ThreadPoolExecutor | None = None

    @property
    def _runtimes(self) -> Collection[BackendRuntime]:
        """The runtimes without duplicates. One runtime may serve several roles."""
        return {id(runtime): runtime for runtime in self.roles.values()}.values()

    @property
    def in_flight(self) -> int:
        """Number of calls that are sent and not answered yet."""
        return sum(runtime.role.in_flight for runtime in self._runtimes)

    # --- the path of a call -----------------------------------------------------------

    async def run(
        self, program: Program[T], scope: Scope, transcript: Transcript | None = None
    ) -> T:
        """Runs a program and returns its result. Adds its exchanges to the transcript.

        Raises the exceptions of the program.
        """
        if transcript is None:
            transcript = Transcript()
        step = 0
        sent: Reply | list[Reply] | None = None
        while True:
            try:
                yielded = next_calls(program, sent)
            except StopIteration as stop:
                result: T = stop.value
                return result
            shared = scope.share and step == 0
            keyed_calls = [
                self.keyed_call(call, scope, path, transcript, shared=shared)
                for path, call in with_paths(yielded, step)
            ]
            if isinstance(yielded, Call):
                entry = await self._answer(keyed_calls[0])
                sent = transcript.note(keyed_calls[0], entry)
            else:
                # if one call raises, the answers to the others are still journalled
                answers = await asyncio.gather(
                    *map(self._answer, keyed_calls), return_exceptions=True
                )
                entries = []
                for answer in answers:
                    if isinstance(answer, BaseException):
                        raise answer
                    entries.append(answer)
                sent = [*map(transcript.note, keyed_calls, entries)]
            step += 1

    def keyed_call(
        self,
        call: Call,
        scope: Scope,
        path: str,
        transcript: Transcript,
        *,
        shared: bool,
    ) -> KeyedCall:
        """Returns the next call of a program with its key in the journal.

        With ``shared``, the key depends on the content alone, so that all trials with
        the same request share the answer.
        """
        role, digest = call.role, call.request.digest
        occurrence = transcript.occurrence(f"{role}/{digest}")
        runtime = self.roles.get(role)
        if runtime is None:
            key = f"{scope.name}#{path}"
        else:
            # A key must not depend on a handshake: a resumed run looks up its answers
            # before it asks again what the backend can do.
            routes = route_mark(call, runtime.declared)
            # other routes show the media in another form, which may change the answer
            form = f"+{routes}" if routes else ""
            # an answer is reused only if the same backend gave it
            backend = f"@{runtime.mark}{form}"
            if runtime.samples is not None:
                # an answer from the sample costs nothing, so it is made again after a
                # change of the sample or the prompt
                content = f"{scope.sample.digest[:12]}{digest[:12]}"
                key = f"{scope.name}#{path}{backend}/{content}"
            elif shared:
                key = f"{role}{form}/{digest}/{scope.repeat}"
                if occurrence:
                    key = f"{key}/{occurrence}"
            elif scope.by_content:
                key = f"{role}{backend}/{digest}/{occurrence}"
            else:
                key = f"{scope.name}#{path}{backend}"
        return KeyedCall(
            call, scope, path, key, digest, occurrence, newest=transcript.newest
        )

    async def _answer(self, keyed_call: KeyedCall) -> JournalEntry:
        """Returns an answer from the journal or another trial's request, or a new one.

        Trials that wait for the same answer share one request.
        """
        entry = self._journalled(keyed_call)
        if entry is not None:
            return entry

        key = keyed_call.key
        while (flight := self._flights.get(key)) is not None:
            try:
                return await asyncio.shield(flight)
            except asyncio.CancelledError:
                if not flight.cancelled():
                    raise
                # the trial that sent the request was cancelled, but not this one: send
                # the request for this trial

        flight = asyncio.get_running_loop().create_future()
        self._flights[key] = flight
        try:
            if keyed_call.scope.patience is None:
                entry = await self._ask(keyed_call)
            else:
                entry = await self._ask_patiently(keyed_call.scope.patience, keyed_call)
            flight.set_result(entry)
            return entry
        except Exception as error:  # all calls that wait for the answer raise it
            flight.set_exception(error)
            # marked as retrieved, since possibly no other call waits
            flight.exception()
            raise
        finally:
            flight.cancel()  # does nothing if an answer or error is set
            del self._flights[key]

    def _journalled(self, keyed_call: KeyedCall) -> JournalEntry | None:
        """Returns the journalled answer if it is acceptable, else None.

        If a worker wrote the answer just before the run was killed, it has not been
        checked yet, so it is checked here.
        """
        call, key = keyed_call.call, keyed_call.key
        entry = self.journal.get(key)
        if entry is None:
            return None
        if entry.request_digest != keyed_call.digest:
            # the line followed another answer to an earlier step, which is lost
            if entry.at < keyed_call.newest:
                return None
            raise ReplayMismatchError(
                f"step {keyed_call.path} of {keyed_call.scope.name} differs from the "
                "journalled step, because the task, its prompt or its protocol "
                "changed. Use --fresh to start over, or --run_id NAME to keep both"
            )
        if not entry.raw:
            return None if fault_of(call, entry.response) else entry

        # the answer has just arrived, and the task that sent the call checks it
        if key in self._flights:
            return None
        runtime = self.roles.get(call.role)
        unknown: Sequence[str] = ()
        if runtime is not None:
            unknown = runtime.capabilities.unknown_options(call.request.params)
        response, fault = checked(call, entry.response, self._tags, unknown)
        if response is entry.response:
            return entry
        checked_entry = self.journal.append(
            key, keyed_call.digest, response, by=keyed_call.by, refused=bool(fault)
        )
        return None if fault else checked_entry._replace(earlier=entry.earlier)

    async def _ask_patiently(
        self, patience: Patience, keyed_call: KeyedCall
    ) -> JournalEntry:
        """Returns a new answer, unless too many verdicts of the metric are unreadable.

        Raises UnreadableJudgeError if too many are unreadable.
        """
        if keyed_call.call.accept is None:
            return await self._ask(keyed_call)
        await patience.admit()
        try:
            entry = await self._ask(keyed_call)
        except BaseException:
            await patience.settle(None, has_reply=False)
            raise
        await patience.settle(entry.response.error)
        return entry

    async def _ask(self, keyed_call: KeyedCall) -> JournalEntry:
        """Draws up to ``MAX_DRAWS`` replies, until one is acceptable.

        Every reply is journalled. A reply that is not acceptable is journalled as a
        failure with its cost. If a call failed, its role has already retried it.
        """
        call, key = keyed_call.call, keyed_call.key
        runtime = self.roles.get(call.role)
        if runtime is None:
            return _error_entry(
                call.request,
                ErrorInfo(
                    "unsupported",
                    f"the role {call.role!r} has no backend; add --role "
                    f"{call.role}=BACKEND",
                ),
            )
        if runtime.handshake is not None and not keyed_call.scope.is_handshake:
            await runtime.handshake.cover(call, self)
        sent = await self._sendable(runtime, call)
        if sent.error is not None:
            return _error_entry(call.request, sent.error)

        unknown = runtime.capabilities.unknown_options(call.request.params)
        endpoint = runtime.endpoint(call.role)
        # answers from a sample cost nothing, and the calls of an agent are cached
        is_handshake = keyed_call.scope.is_handshake
        cache = None if endpoint is None or is_handshake else self._cache
        # continue after the draws of earlier sessions, whose seeds gave bad replies
        first = self.journal.refusals(key)
        # the same sample always gives the same answer
        draws = 1 if runtime.samples is not None else MAX_DRAWS
        for draw in range(first, first + draws):
            request = self._with_seed(keyed_call, sent.request, draw).without_options(
                unknown
            )
            request = _with_form(request, call, runtime)

            cached: Response | None = None
            if cache is not None:
                identity = _cache_identity(request, call, runtime)
                cache_key = cache.key(identity, request.digest, request.seed)
                cached = cache.get(cache_key)
                if cached is not None and fault_of(call, cached):
                    cached = None
            if cached is None:
                response, failures = await self._draw(
                    runtime, request, keyed_call, draw, sent.done
                )
            else:
                response, failures = cached, 0

            response = with_warnings(response, sent.done)
            if unread := unread_media(request, response):
                response = replace(response, unread=unread)
            response, fault = checked(call, response, self._tags, unknown)
            entry = self.journal.append(
                key,
                keyed_call.digest,
                response,
                by=keyed_call.by,
                attempt=failures,
                to=endpoint if cached is None else None,
                in_place=runtime.in_place,
                refused=bool(fault),
            )
            if cache is not None and cached is None:
                # the cache is for other runs; this one has the answer in its journal
                try:
                    cache.put(cache_key, entry.response)
                except StorageError as error:
                    log.warning("%s The run folder has the answer", sentence(error))
            if not fault and not _gives_up_schema(runtime, request, response):
                break
        return entry

    async def _sendable(self, runtime: BackendRuntime, call: Call) -> Sendable:
        """Returns the request to send.

        A thread converts media if the call allows it.
        """
        if runtime.samples is None and call.convert:
            if self._converting is None:
                self._converting = ThreadPoolExecutor(CONVERTING, "mmeval-convert")
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(
                self._converting, sendable, call, runtime.capabilities
            )
        gaps = runtime.capabilities.missing(call.request)
        if not gaps:
            return Sendable(call.request)
        error = ErrorInfo("unsupported", f"the {call.role} {'; '.join(gaps)}")
        return Sendable(call.request, error=error)

    def _with_seed(
        self,
        keyed_call: KeyedCall,
        request: Request,
        draw: int,
    ) -> Request:
        """Returns the request with its seed and its idempotency key.

        If the run was killed and continues, the key is the same. It changes once a
        failure is journalled.
        """
        scope, digest = keyed_call.scope, keyed_call.digest
        seed = call_seed(
            self._seed,
            digest,
            scope.seed_repeat,
            keyed_call.occurrence,
            scope.draw,
            draw,
        )
        if scope.is_handshake and request.seed:
            seed = request.seed
        if not self._nonce:
            return request.with_seed(seed)
        failed = self.journal.failures(keyed_call.key)
        name = f"{self._nonce}/{digest}/{draw}/{failed}/{keyed_call.key}"
        key = line_digest(name.encode("utf-8", "surrogatepass"))
        return request.with_seed(seed, key)

    async def _draw(
        self,
        runtime: BackendRuntime,
        request: Request,
        keyed_call: KeyedCall,
        draw: int,
        warnings: tuple[str, ...],
    ) -> tuple[Response, int]:
        """Returns the reply of a role, and the number of failed attempts before it."""
        scope = keyed_call.scope
        if runtime.samples is not None:
            response = runtime.samples.answer(
                scope.task, scope.sample, scope.repeat, request
            )
            return response, 0
        if runtime.programs is not None:
            inner = scope.of_agent(
                keyed_call.key, occurrence=keyed_call.occurrence, draw=draw
            )
            program = runtime.programs.program(request)
            transcript = Transcript(newest=keyed_call.newest)
            return await self.run(program, inner, transcript), 0

        endpoint = runtime.endpoint(keyed_call.call.role)
        # only batches need a context, and building one takes time
        context = NO_CONTEXT
        if runtime.role.batcher is not None:
            context = keyed_call.context(endpoint, draw, warnings)
        failed_attempts = FailedAttempts()
        try:
            return await runtime.ask(request, context, failed_attempts)
        except BaseException:  # including a cancelled call
            # Failed attempts are journalled, so that later sessions count their cost.
            # A storage error must not hide the error that ends the call.
            if failed_attempts.last is not None:
                with contextlib.suppress(StorageError):
                    self.journal.append(
                        keyed_call.key,
                        keyed_call.digest,
                        failed_attempts.last,
                        by=keyed_call.by,
                        attempt=failed_attempts.failed - 1,
                        to=endpoint,
                    )
            raise

    # --- the end ----------------------------------------------------------------------

    def stop(self) -> None:
        """Sends no more calls. New calls raise StoppedError. Calls in flight finish."""
        for runtime in self.roles.values():
            runtime.stop()

    async def leave(self) -> None:
        """Closes the backends, after every answer that has arrived is journalled."""
        # A task that is cancelled before it takes its reply loses that reply. The turns
        # before and after closing let each task take what has arrived.
        await _let_tasks_run()
        for runtime in self._runtimes:
            await runtime.close()
        await _let_tasks_run()

    async def close(self) -> None:
        await self.leave()
        if self._converting is not None:
            self._converting.shutdown(wait=False, cancel_futures=True)
        if self._cache is not None:
            self._cache.close()


async def _let_tasks_run() -> None:
    for _ in range(LAST_TURNS):
        await asyncio.sleep(0)


def _error_entry(request: Request, error: ErrorInfo) -> JournalEntry:
    """Returns an entry for an error that occurred before a request was sent.

    The entry is not journalled.
    """
    response = Response(error=error, finish_reason="error")
    line = to_line(response.to_json())
    return JournalEntry(request.digest, response, line, at=time.time())


def _with_form(request: Request, call: Call, runtime: BackendRuntime) -> Request:
    """Returns the request with the schema of its reply, if the server enforces it."""
    form = runtime.reply_format
    if call.schema is None or form is None:
        return request
    return request.with_schema(ReplySchema(call.schema, form))


def _gives_up_schema(
    runtime: BackendRuntime, request: Request, response: Response
) -> bool:
    """Returns True if a request can be sent again, without its schema.

    Some servers refuse certain schemas, although they enforce the schema in the
    handshake. After this, no schema is sent to the backend any more.
    """
    error = response.error
    if request.reply_schema is None or error is None or error.kind != "bad_request":
        return False
    runtime.reply_format = None
    return True


def _cache_identity(
    request: Request, call: Call, runtime: BackendRuntime
) -> dict[str, Any]:
    """Returns the identity that other runs need to find the answer to a request."""
    identity = dict(runtime.identity)
    if routes := route_mark(call, runtime.capabilities):
        identity["routes"] = routes
    if request.reply_schema is not None:
        identity["reply_format"] = request.reply_schema.form
    return identity
