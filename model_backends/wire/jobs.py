"""Jobs: work that a server takes up once, and is polled for until it has ended.

A job may cost dollars and take longer than the process that asked for it. So its id is
noted before it is polled, also in the run folder: whatever happens to the connection or
the process, the next try goes on with the same job.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar
from urllib.parse import quote, urljoin

from mmeval.errors import StorageError
from mmeval.model_backends.wire.addresses import is_same_server
from mmeval.model_backends.wire.connection import Connection
from mmeval.model_backends.wire.failures import CallError, bad_reply
from mmeval.model_backends.wire.replies.links import Links
from mmeval.model_backends.wire.replies.reply import json_object
from mmeval.model_backends.wire.replies.server_errors import (
    error_in_body,
    reported,
)
from mmeval.model_backends.wire.transport import HttpReply, HttpRequest, Transport
from mmeval.records import Request, Response
from mmeval.system import from_line, to_line, write_atomic

T = TypeVar("T")

log = logging.getLogger(__name__)

MOST_MISSED = 3
"""So many polls in a row may not find a job or its result; then there is none."""
_MOST_ID_CHARS = 1000
_PASSING = frozenset(("rate_limit", "unreachable", "timeout", "connection", "server"))
"""Errors that say nothing of a job."""
_HAS_ENDED = frozenset(("completed", "succeeded", "success", "done"))
_HAS_FAILED = frozenset(
    ("failed", "failure", "error", "cancelled", "canceled", "expired", "rejected")
)
_NOT_YET = re.compile(
    r"in[- ]?progress|not yet|not (?:ready|completed?|finished)|still being"
    r"|processing|queued",
    re.IGNORECASE,
)
"""What a server writes where the result is not there yet."""
_WAITING_STATUSES = frozenset((202, 204, 409, 425))


class JobEndedError(CallError):
    """A job that has ended without a result: asking again means another job."""


class JobLostError(JobEndedError):
    """A job that its server does not know any more."""


class _NotFoundError(CallError):
    """A poll that finds nothing: some servers know a job a moment late."""


class JobNote(NamedTuple):
    """What it takes to go on with a job. ``base_url`` is the server that has it,
    ``polling_url`` where it wants to be polled (empty: at the usual place), ``key`` the
    call that was answered by it, empty until then."""

    id: str
    base_url: str
    polling_url: str = ""
    key: str = ""


class JobEndpoint(ABC):
    """An endpoint whose replies are jobs."""

    poll_timeout: ClassVar[float] = 60.0
    """Seconds for one poll, of which the reply is short; after that it is polled
    again."""

    @property
    @abstractmethod
    def path(self) -> str:
        """Where the jobs are polled."""

    @abstractmethod
    def encode(self, request: Request) -> HttpRequest:
        """The request as sent. Raises CallError for what cannot be."""

    def job(self, received: HttpReply) -> Mapping[str, Any]:
        """The job that a reply states. Raises CallError for an error in its place."""
        try:
            job = from_line(received.body)
        except (ValueError, RecursionError):
            job = None
        # the error of a job that has failed is not one of the call
        if isinstance(job, dict) and isinstance(job.get("status"), str):
            return job
        return json_object(received.body)

    def has_ended(self, job: Mapping[str, Any]) -> bool:
        """Whether the job is over, with a result or without."""
        return _status_of(job) in _HAS_ENDED | _HAS_FAILED

    def result_place(self, job: Mapping[str, Any], place: str) -> str | None:
        """Where the result of a job is that has ended: a URL, or a path. ``place`` is
        the path of the job. None where the reply that states the end is the result."""
        del job, place
        return None

    @abstractmethod
    def decode(
        self, received: HttpReply, request: Request, links: Links | None = None
    ) -> Response:
        """The answer in a result. Raises CallError where there is none."""

    def completed(self, response: Response, job: Mapping[str, Any]) -> Response:
        """The answer, with what its job states besides."""
        del job
        return response


class _JobReply(NamedTuple):
    """A reply, and the job that it states."""

    received: HttpReply
    job: Mapping[str, Any]


class JobNotes:
    """The jobs of calls, by their names; in a folder, where there is one."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._known: dict[str, JobNote] = {}

    def keep_in(self, folder: Path) -> None:
        """Keep the jobs of a run in a folder of it, and forget those of another run."""
        self.folder = folder
        self._known.clear()

    def get(self, name: str) -> JobNote | None:
        """Raises StorageError for a damaged note."""
        if name in self._known or self.folder is None:
            return self._known.get(name)
        file = self._file(name)
        try:
            row = from_line(file.read_bytes())
            return JobNote(**{field: str(value) for field, value in row.items()})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise StorageError(
                f"{file} is damaged; remove it, and its job is paid for again"
            ) from error

    def put(self, name: str, note: JobNote) -> None:
        """Raises StorageError."""
        self._known[name] = note
        if self.folder is not None:
            write_atomic(self._file(name), to_line(note._asdict()))

    def remove(self, name: str, note: JobNote) -> None:
        """Forget a job, unless another one has its place already."""
        held = self.get(name)
        if held is None or held.id != note.id:
            return
        self._known.pop(name, None)
        if self.folder is not None:
            self._file(name).unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{name}.json"


class Jobs:
    """Answers calls by jobs. Each call waits as long as any other (``timeout``), and a
    later one goes on.

    ``outlasts`` is false for a server whose jobs end with it: then a connection that
    fails ends the call, and the next try finds out whether the job is still there.
    """

    def __init__(
        self,
        transport: Transport,
        connection: Connection,
        *,
        poll_seconds: float,
        outlasts: bool = True,
    ) -> None:
        self.notes = JobNotes()
        self.transport, self.connection = transport, connection
        self.poll_seconds, self.outlasts = poll_seconds, outlasts
        self.closings = 0
        self.making: weakref.WeakValueDictionary[str, asyncio.Lock] = (
            weakref.WeakValueDictionary()
        )

    def close(self) -> None:
        """Let the calls under way poll no more."""
        self.closings += 1

    async def answer(
        self,
        endpoint: JobEndpoint,
        request: Request,
        encode: Callable[[], Awaitable[HttpRequest]],
        read: Callable[[HttpReply], Awaitable[Response]],
    ) -> Response:
        """The result of a request's job, which is asked for unless there is one:
        ``encode`` gives the request as sent, ``read`` the answer in a result. Raises
        CallError, and StorageError where its note cannot be kept."""
        seconds = self.connection.timeout
        began = time.perf_counter()
        call = _JobCall(self, endpoint, request, encode, read)
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                response = await call.answer()
        except TimeoutError:
            if not limit.expired():
                raise
            if not call.has_job:
                # the server may have taken it up, but nobody knows its name
                raise CallError(
                    "timeout", f"no whole answer within {seconds:g} s"
                ) from None
            trouble = f" ({call.trouble})" if call.trouble else ""
            raise CallError(
                "timeout",
                f"the job has not ended within {seconds:g} s{trouble}; the next try "
                "goes on with it",
            ) from None
        return replace(response, latency=time.perf_counter() - began)


class _JobCall:
    """One call: its job is found or made, polled, and read."""

    def __init__(
        self,
        jobs: Jobs,
        endpoint: JobEndpoint,
        request: Request,
        encode: Callable[[], Awaitable[HttpRequest]],
        read: Callable[[HttpReply], Awaitable[Response]],
    ) -> None:
        self._jobs, self._endpoint = jobs, endpoint
        self._request, self._encode, self._read = request, encode, read
        # the seed tells draws apart; the key changes with each journalled failure
        self._name = f"{request.digest}-{request.seed}"
        self._remarks: tuple[str, ...] = ()
        self.trouble = ""
        """Why the last poll has failed."""
        self.has_job = False
        """Whether a next try would find the job."""

    async def answer(self) -> Response:
        lock = self._jobs.making.setdefault(self._name, asyncio.Lock())
        async with lock:
            note = self._jobs.notes.get(self._name)
            key = self._request.key
            if note is not None and note.key and note.key != key:
                # its job has answered an equal call
                note = None
            if note is not None and not self._jobs.transport.knows(note.base_url):
                log.warning(
                    "a job is at %s, which is not asked any more; it is asked for anew",
                    note.base_url,
                )
                note = None
            ended = None
            is_old = self.has_job = note is not None
            if note is None:
                note, ended = await self._post()
        try:
            return await self._result(note, ended)
        except JobLostError as error:
            if not is_old:
                raise
            log.warning("%s; it is asked for anew", error.text)
        note, ended = await self._post()
        return await self._result(note, ended)

    async def _post(self) -> tuple[JobNote, _JobReply | None]:
        """Ask for the job: its note, and the reply if that states its end already."""
        transport = self._jobs.transport
        outgoing = await self._encode()
        self._remarks = outgoing.notes
        received = await transport.post(outgoing, self._request.key)
        has_ended = False
        try:
            if not 200 <= received.status < 300:
                raise self._jobs.transport.error(received)
            job = self._endpoint.job(received)
            note = _note_of(job, received.base_url)
            self._jobs.notes.put(self._name, note)
            self.has_job = True
            has_ended = self._endpoint.has_ended(job)
        finally:
            if not has_ended:
                transport.release(received)
        return note, _JobReply(received, job) if has_ended else None

    async def _result(self, note: JobNote, ended: _JobReply | None) -> Response:
        """The answer by a job. ``ended`` is the reply that states its end, if that has
        come."""
        try:
            if ended is None:
                ended = await self._polled(note)
            received = await self._fetched(note, ended)
        except JobEndedError:
            self._jobs.notes.remove(self._name, note)
            raise
        try:
            response = await self._read(received)
        except CallError as error:
            # an error in the place of the result may pass, and the next try goes on
            # with the job; one that the job itself states is its end
            is_stated = received is ended.received
            if is_stated or error.kind not in _PASSING:
                self._jobs.notes.remove(self._name, note)
            raise
        finally:
            self._jobs.transport.release(received)
        response = self._endpoint.completed(response, ended.job)
        if self._request.key:
            # the journal may not have the answer yet; no other call uses the note
            note = note._replace(key=self._request.key)
            self._jobs.notes.put(self._name, note)
        else:
            self._jobs.notes.remove(self._name, note)
        warnings = (*self._remarks, *response.warnings)
        return replace(response, warnings=warnings)

    async def _polled(self, note: JobNote) -> _JobReply:
        """The reply that states the end of a job."""
        endpoint = self._endpoint
        place = self._place(note)
        if is_same_server(note.polling_url, note.base_url):
            place = note.polling_url

        async def poll() -> HttpReply:
            try:
                async with asyncio.timeout(endpoint.poll_timeout):
                    return await self._jobs.transport.get(place, note.base_url)
            except TimeoutError:
                raise CallError(
                    "timeout",
                    f"no answer to a poll within {endpoint.poll_timeout:g} s",
                ) from None

        def read(received: HttpReply) -> _JobReply | None:
            if not 200 <= received.status < 300:
                error = self._jobs.transport.error(received)
                raise _not_found(error) if received.status in (404, 410) else error
            try:
                job = endpoint.job(received)
            except CallError as error:
                if error.kind != "bad_reply":
                    raise
                # the page of a gateway in place of the reply
                raise CallError("server", error.text) from None
            return _JobReply(received, job) if endpoint.has_ended(job) else None

        return await self._until(poll, read)

    async def _fetched(self, note: JobNote, ended: _JobReply) -> HttpReply:
        """The result of a job that has ended, as it is received."""
        place = self._endpoint.result_place(ended.job, self._place(note))
        if place is None:
            return ended.received
        self._jobs.transport.release(ended.received)
        status = _status_of(ended.job)
        if status in _HAS_FAILED:
            stated = reported(ended.job) or f"its status is {status}"
            raise _job_error(error_in_body(stated))
        if place.startswith("/"):
            place = urljoin(note.base_url, place)
        is_elsewhere = "://" in place and not is_same_server(place, note.base_url)

        def read(received: HttpReply) -> HttpReply | None:
            status = received.status
            if status in _WAITING_STATUSES:
                return None
            if 200 <= status < 300:
                return received
            error = self._jobs.transport.error(received)
            if status in (404, 410) and _NOT_YET.search(error.text):
                return None
            if status in (404, 410):
                raise _not_found(error)
            # a host that was not given the key does not refuse the key
            if status == 422 or (is_elsewhere and error.kind == "auth"):
                raise _job_error(error)
            raise error

        url = place
        return await self._until(
            lambda: self._jobs.transport.get(url, note.base_url), read
        )

    async def _until(
        self,
        fetch: Callable[[], Awaitable[HttpReply]],
        read: Callable[[HttpReply], T | None],
    ) -> T:
        """What ``read`` makes of a reply, which is fetched until there is one. That
        reply is released by the caller."""
        jobs = self._jobs
        closings, misses = jobs.closings, 0
        while True:
            pause = jobs.poll_seconds
            try:
                received = await fetch()
                value = None
                try:
                    value = read(received)
                finally:
                    if value is None:
                        jobs.transport.release(received)
                if value is not None:
                    return value
                misses, self.trouble = 0, ""
            except _NotFoundError as error:
                misses += 1
                if misses >= MOST_MISSED:
                    raise JobLostError(
                        "server", f"the server does not know the job ({error.text})"
                    ) from None
            except CallError as error:
                is_lost = error.kind in ("connection", "unreachable")
                if is_lost and not jobs.outlasts:
                    # whether it is dead is known by who has started it
                    raise CallError("connection", error.text) from None
                if isinstance(error, JobEndedError) or error.kind not in _PASSING:
                    raise
                self.trouble = error.text
                pause = max(pause, error.retry_after or 0.0)
            await asyncio.sleep(pause)
            if closings != jobs.closings:
                raise CallError("connection", "the backend was closed meanwhile")

    def _place(self, note: JobNote) -> str:
        return f"{self._endpoint.path}/{quote(note.id, safe='')}"


def _note_of(job: Mapping[str, Any], base_url: str) -> JobNote:
    """The note of a job that ``base_url`` has begun. Raises CallError ``bad_reply``
    without an id."""
    identity = job.get("id")
    if not isinstance(identity, str | int) or not identity:
        error = reported(job)
        if error is not None:
            raise error_in_body(error)
        raise bad_reply("the server's answer is not a job: it has no id")
    if len(str(identity)) > _MOST_ID_CHARS:
        raise bad_reply("the id of the server's job is too long")
    polling_url = ""
    place = job.get("polling_url")
    if isinstance(place, str) and place:
        polling_url = urljoin(f"{base_url}/", place)
    return JobNote(str(identity), base_url, polling_url)


def _status_of(job: Mapping[str, Any]) -> str:
    return str(job.get("status")).lower()


def _job_error(error: CallError) -> JobEndedError:
    """The error of a job that has failed: refused, or a failure of the server."""
    if error.kind == "refused":
        return JobEndedError("refused", error.text)
    return JobEndedError("server", f"the job has failed: {error.text}")


def _not_found(error: CallError) -> _NotFoundError:
    return _NotFoundError(error.kind, error.text)
