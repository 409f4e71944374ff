"""Jobs, which a server starts once, and which mmeval polls until they have ended.

A job may cost dollars and outlive the process that started it. Therefore its id is
saved before the first poll, in the run folder if there is one. If the connection or the
process fails, the next attempt continues the same job.
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
    reported_error,
)
from mmeval.model_backends.wire.transport import HttpReply, HttpRequest, Transport
from mmeval.records import Request, Response
from mmeval.system import from_line, to_line, write_atomic

T = TypeVar("T")

log = logging.getLogger(__name__)

MAX_MISSES = 3
"""Number of consecutive polls after which a job counts as lost.

Only polls that do not find the job or its result are counted.
"""
_MAX_ID_CHARS = 1000
_PASSING = frozenset(("rate_limit", "unreachable", "timeout", "connection", "server"))
"""Errors that do not contain information about a job."""
_HAS_ENDED = frozenset(("completed", "succeeded", "success", "done"))
_HAS_FAILED = frozenset(
    ("failed", "failure", "error", "cancelled", "canceled", "expired", "rejected")
)
_NOT_YET = re.compile(
    r"in[- ]?progress|not yet|not (?:ready|completed?|finished)|still being"
    r"|processing|queued",
    re.IGNORECASE,
)
"""Words in the replies of servers if the result is not ready."""
_WAITING_STATUSES = frozenset((202, 204, 409, 425))


class JobEndedError(CallError):
    """A job has ended without a result. A retry starts another job."""


class JobLostError(JobEndedError):
    """The server no longer knows a job."""


class _NotFoundError(CallError):
    """A poll finds no job. Some servers know a new job only after a moment."""


class JobNote(NamedTuple):
    """The data needed to continue a job.

    ``base_url`` is the server that runs the job. ``polling_url`` is the URL to poll
    (empty: the usual path). ``key`` names the call that the job has answered. It is
    empty until the job has answered a call.
    """

    id: str
    base_url: str
    polling_url: str = ""
    key: str = ""


class JobEndpoint(ABC):
    """An endpoint that replies with jobs."""

    poll_timeout: ClassVar[float] = 60.0
    """Maximum duration of a poll in seconds.

    Replies are short, so a slow poll is aborted and repeated.
    """

    @property
    @abstractmethod
    def path(self) -> str:
        """The path below which jobs are polled."""

    @abstractmethod
    def encode(self, request: Request) -> HttpRequest:
        """Encodes a request. Raises CallError if it cannot be sent."""

    def job(self, http_reply: HttpReply) -> Mapping[str, Any]:
        """Returns the job in a reply.

        Raises CallError if the reply is an error.
        """
        try:
            job = from_line(http_reply.body)
        except (ValueError, RecursionError):
            job = None
        # the error of a failed job is not an error of this poll
        if isinstance(job, dict) and isinstance(job.get("status"), str):
            return job
        return json_object(http_reply.body)

    def has_ended(self, job: Mapping[str, Any]) -> bool:
        """Returns True if the job is over, with or without a result."""
        return _status_of(job) in _HAS_ENDED | _HAS_FAILED

    def result_location(self, job: Mapping[str, Any], path: str) -> str | None:
        """Returns the URL or path of the result of an ended job.

        ``path`` is the path of the job. None means that the reply that reports the end
        is the result.
        """
        del job, path
        return None

    @abstractmethod
    def decode(
        self, http_reply: HttpReply, request: Request, links: Links | None = None
    ) -> Response:
        """Decodes the answer in a result. Raises CallError if it contains no answer."""

    def completed(self, response: Response, job: Mapping[str, Any]) -> Response:
        """Adds the facts that a job states to the answer, and returns the answer."""
        del job
        return response


class _JobReply(NamedTuple):
    """A reply and the job in it."""

    reply: HttpReply
    job: Mapping[str, Any]


class JobNotes:
    """Notes on jobs, under the names of the calls.

    If a folder is set, they are also saved as files.
    """

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._notes: dict[str, JobNote] = {}

    def keep_in(self, folder: Path) -> None:
        """Keeps the notes of a run in its folder.

        The notes of another run are forgotten.
        """
        self.folder = folder
        self._notes.clear()

    def get(self, name: str) -> JobNote | None:
        """Returns the note of a call. Raises StorageError for a damaged note."""
        if name in self._notes or self.folder is None:
            return self._notes.get(name)
        file = self._file(name)
        try:
            row = from_line(file.read_bytes())
            return JobNote(**{field: str(value) for field, value in row.items()})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise StorageError(
                f"{file} is damaged; remove it to start its job again, at a new cost"
            ) from error

    def put(self, name: str, note: JobNote) -> None:
        """Saves a note. Raises StorageError."""
        self._notes[name] = note
        if self.folder is not None:
            write_atomic(self._file(name), to_line(note._asdict()))

    def remove(self, name: str, note: JobNote) -> None:
        """Forgets a job, unless another job has replaced it."""
        current = self.get(name)
        if current is None or current.id != note.id:
            return
        self._notes.pop(name, None)
        if self.folder is not None:
            self._file(name).unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{name}.json"


class Jobs:
    """Answers calls with jobs.

    Each call waits for at most ``timeout`` seconds. A later call continues the job.

    ``outlasts`` is False if jobs end together with their server. Then a failed
    connection ends the call, and the next attempt checks whether the job still exists.
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
        """Stops polling for all active calls."""
        self.closings += 1

    async def answer(
        self,
        endpoint: JobEndpoint,
        request: Request,
        encode: Callable[[], Awaitable[HttpRequest]],
        read: Callable[[HttpReply], Awaitable[Response]],
    ) -> Response:
        """Starts the job of a request, unless it exists, and returns its result.

        ``encode`` encodes the request. ``read`` decodes the answer in a result. Raises
        CallError, and StorageError if the job's note cannot be saved.
        """
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
                # the server may have started a job, but its id is unknown
                raise CallError(
                    "timeout", f"no complete answer within {seconds:g} s"
                ) from None
            trouble = f" ({call.trouble})" if call.trouble else ""
            raise CallError(
                "timeout",
                f"the job has not ended within {seconds:g} s{trouble}; the next "
                "attempt continues it",
            ) from None
        return replace(response, latency=time.perf_counter() - began)


class _JobCall:
    """One call, which finds or starts its job, polls it, and reads the result."""

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
        # the seed distinguishes repeated draws; the call's key cannot be the name,
        # because it changes with each failure in the journal
        self._name = f"{request.digest}-{request.seed}"
        self._encode_notes: tuple[str, ...] = ()
        self.trouble = ""
        """The reason why the last poll failed."""
        self.has_job = False
        """True if a later attempt would find the job."""

    async def answer(self) -> Response:
        lock = self._jobs.making.setdefault(self._name, asyncio.Lock())
        # the lock keeps equal calls from starting (and paying for) two jobs
        async with lock:
            note = self._jobs.notes.get(self._name)
            key = self._request.key
            if note is not None and note.key and note.key != key:
                # this job has already answered an equal call
                note = None
            if note is not None and not self._jobs.transport.knows(note.base_url):
                log.warning(
                    "a job was started at %s, which is no longer an address of the "
                    "model; it is started again",
                    note.base_url,
                )
                note = None
            ended = None
            is_old = self.has_job = note is not None
            if note is None:
                note, ended = await self._start()
        try:
            return await self._result(note, ended)
        except JobLostError as error:
            if not is_old:
                raise
            log.warning("%s; it is started again", error.text)
        note, ended = await self._start()
        return await self._result(note, ended)

    async def _start(self) -> tuple[JobNote, _JobReply | None]:
        """Starts the job.

        Returns the job's note, and the reply if the job has already ended.
        """
        transport = self._jobs.transport
        outgoing = await self._encode()
        self._encode_notes = outgoing.notes
        http_reply = await transport.post(outgoing, self._request.key)
        has_ended = False
        try:
            if not 200 <= http_reply.status < 300:
                raise self._jobs.transport.error(http_reply)
            job = self._endpoint.job(http_reply)
            note = _note_of(job, http_reply.base_url)
            # saved before the first poll, so that a later process can continue the job
            self._jobs.notes.put(self._name, note)
            self.has_job = True
            has_ended = self._endpoint.has_ended(job)
        finally:
            if not has_ended:
                transport.release(http_reply)
        return note, _JobReply(http_reply, job) if has_ended else None

    async def _result(self, note: JobNote, ended: _JobReply | None) -> Response:
        """Waits for the end of a job, and returns its answer.

        ``ended`` is the reply that reports the job's end, if it is known.
        """
        try:
            if ended is None:
                ended = await self._poll_end(note)
            http_reply = await self._fetch_result(note, ended)
        except JobEndedError:
            self._jobs.notes.remove(self._name, note)
            raise
        try:
            response = await self._read(http_reply)
        except CallError as error:
            # an error instead of the result may be temporary, so the next attempt
            # continues the job; an error in the job itself ends the job
            is_stated = http_reply is ended.reply
            if is_stated or error.kind not in _PASSING:
                self._jobs.notes.remove(self._name, note)
            raise
        finally:
            self._jobs.transport.release(http_reply)
        response = self._endpoint.completed(response, ended.job)
        if self._request.key:
            # the note is kept, because the journal may not contain the answer yet; its
            # key keeps other calls from using it
            note = note._replace(key=self._request.key)
            self._jobs.notes.put(self._name, note)
        else:
            self._jobs.notes.remove(self._name, note)
        warnings = (*self._encode_notes, *response.warnings)
        return replace(response, warnings=warnings)

    async def _poll_end(self, note: JobNote) -> _JobReply:
        """Polls until a reply reports the end of the job."""
        endpoint = self._endpoint
        path = self._path(note)
        if is_same_server(note.polling_url, note.base_url):
            path = note.polling_url

        async def poll() -> HttpReply:
            try:
                async with asyncio.timeout(endpoint.poll_timeout):
                    return await self._jobs.transport.get(path, note.base_url)
            except TimeoutError:
                raise CallError(
                    "timeout",
                    f"no answer to a poll within {endpoint.poll_timeout:g} s",
                ) from None

        def read(http_reply: HttpReply) -> _JobReply | None:
            if not 200 <= http_reply.status < 300:
                error = self._jobs.transport.error(http_reply)
                raise _not_found(error) if http_reply.status in (404, 410) else error
            try:
                job = endpoint.job(http_reply)
            except CallError as error:
                if error.kind != "bad_reply":
                    raise
                # a gateway may reply with its own page
                raise CallError("server", error.text) from None
            return _JobReply(http_reply, job) if endpoint.has_ended(job) else None

        return await self._until(poll, read)

    async def _fetch_result(self, note: JobNote, ended: _JobReply) -> HttpReply:
        """Fetches the result of an ended job."""
        location = self._endpoint.result_location(ended.job, self._path(note))
        if location is None:
            return ended.reply
        self._jobs.transport.release(ended.reply)
        status = _status_of(ended.job)
        if status in _HAS_FAILED:
            stated = reported_error(ended.job) or f"its status is {status}"
            raise _job_error(error_in_body(stated))
        if location.startswith("/"):
            location = urljoin(note.base_url, location)
        is_elsewhere = "://" in location and not is_same_server(location, note.base_url)

        def read(http_reply: HttpReply) -> HttpReply | None:
            status = http_reply.status
            if status in _WAITING_STATUSES:
                return None
            if 200 <= status < 300:
                return http_reply
            error = self._jobs.transport.error(http_reply)
            if status in (404, 410) and _NOT_YET.search(error.text):
                return None
            if status in (404, 410):
                raise _not_found(error)
            # the key was not sent to this host, so the error is not about the key
            if status == 422 or (is_elsewhere and error.kind == "auth"):
                raise _job_error(error)
            raise error

        url = location
        return await self._until(
            lambda: self._jobs.transport.get(url, note.base_url), read
        )

    async def _until(
        self,
        fetch: Callable[[], Awaitable[HttpReply]],
        read: Callable[[HttpReply], T | None],
    ) -> T:
        """Fetches replies until ``read`` returns a value.

        The caller must release the last reply.
        """
        jobs = self._jobs
        closings, misses = jobs.closings, 0
        while True:
            pause = jobs.poll_seconds
            try:
                http_reply = await fetch()
                value = None
                try:
                    value = read(http_reply)
                finally:
                    if value is None:
                        jobs.transport.release(http_reply)
                if value is not None:
                    return value
                misses, self.trouble = 0, ""
            except _NotFoundError as error:
                misses += 1
                if misses >= MAX_MISSES:
                    raise JobLostError(
                        "server", f"the server does not know the job ({error.text})"
                    ) from None
            except CallError as error:
                is_lost = error.kind in ("connection", "unreachable")
                if is_lost and not jobs.outlasts:
                    # the backend that started the server checks if it is still alive
                    raise CallError("connection", error.text) from None
                if isinstance(error, JobEndedError) or error.kind not in _PASSING:
                    raise
                self.trouble = error.text
                pause = max(pause, error.retry_after or 0.0)
            await asyncio.sleep(pause)
            if closings != jobs.closings:
                raise CallError("connection", "the backend was closed")

    def _path(self, note: JobNote) -> str:
        return f"{self._endpoint.path}/{quote(note.id, safe='')}"


def _note_of(job: Mapping[str, Any], base_url: str) -> JobNote:
    """Returns the note of a job that the server at ``base_url`` has started.

    Raises CallError ``bad_reply`` for a job without an id.
    """
    identity = job.get("id")
    if not isinstance(identity, str | int) or not identity:
        error = reported_error(job)
        if error is not None:
            raise error_in_body(error)
        raise bad_reply("the server's answer is not a job: its id is missing")
    if len(str(identity)) > _MAX_ID_CHARS:
        raise bad_reply("the id of the server's job is too long")
    polling_url = ""
    location = job.get("polling_url")
    if isinstance(location, str) and location:
        polling_url = urljoin(f"{base_url}/", location)
    return JobNote(str(identity), base_url, polling_url)


def _status_of(job: Mapping[str, Any]) -> str:
    return str(job.get("status")).lower()


def _job_error(error: CallError) -> JobEndedError:
    """Converts the error of a failed job to a refusal or a failure of the server."""
    if error.kind == "refused":
        return JobEndedError("refused", error.text)
    return JobEndedError("server", f"the job failed: {error.text}")


def _not_found(error: CallError) -> _NotFoundError:
    return _NotFoundError(error.kind, error.text)
