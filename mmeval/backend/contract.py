"""The protocols of model backends, which answer requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from mmeval.backend.capabilities import Capabilities
from mmeval.program.calls import Program
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import Sample


@runtime_checkable
class Backend(Protocol):
    """The members of every backend.

    ``identity`` contains everything that can change an answer (model, revision, code,
    dtype, settings). Answers are reused only by backends with an equal identity.
    ``provenance`` is only recorded (library versions, machine).
    """

    @property
    def capabilities(self) -> Capabilities: ...
    @property
    def identity(self) -> Mapping[str, Any]: ...
    @property
    def provenance(self) -> Mapping[str, Any]: ...
    async def close(self) -> None: ...


@runtime_checkable
class ModelBackend(Backend, Protocol):
    """A backend that answers one request at a time.

    ``generate`` returns a failure as a ``Response`` with an error, never as an empty
    answer. If it raises an exception, an ``internal`` error is recorded.
    """

    async def generate(self, request: Request) -> Response: ...


@runtime_checkable
class BatchBackend(Backend, Protocol):
    """A local model that answers several requests at once, in a worker thread.

    ``generate_batch`` yields ``(position in requests, response)`` in any order, each
    position once. The requests of a batch have equal ``wants`` and ``params``. If it
    raises an exception, the requests without an answer are sent again: in halves if
    memory ran out, else one by one.

    A batch has at most ``max_batch_size`` requests. A backend may also have a smaller
    ``usual_batch_size``, the default for users.
    """

    @property
    def max_batch_size(self) -> int: ...
    def generate_batch(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, Response]]: ...


class ModelDiedError(Exception):
    """The model died while it answered a batch. The message states the cause.

    If the model of a batch backend runs in another process, the backend raises this
    error. The model is then started again, and the open rows are sent again one by one.
    If the model dies twice on the same row, the row fails.
    """


class PlaceLostError(ModelDiedError):
    """The machine that runs the model is gone. No row of the batch is the cause."""


class ServerBatches(Protocol):
    """The batch interface of a server.

    A batch contains many requests, takes hours and costs less than single requests.
    ``takes`` returns True if a request may be part of a batch. ``answer`` calls
    ``deliver`` for each position. Requests that fail with a retryable error are then
    sent one by one. ``answer`` also calls ``report`` to describe its progress.

    If the run is killed and resumed, ``answer`` is called again with the same requests
    or some of them. It records its batches in the folder ``notes``, so that the user
    never pays for a request twice. The call to ``answer`` may be cancelled. It raises
    MmevalError for errors that affect every request.
    """

    max_rows: int

    def takes(self, request: Request) -> bool: ...
    async def answer(
        self,
        requests: Sequence[Request],
        notes: Path,
        deliver: Callable[[int, Response], None],
        report: Callable[[str], None],
    ) -> None: ...


@runtime_checkable
class Batchable(Protocol):
    """A model backend whose server also accepts batches.

    ``batches`` is None unless the user has chosen batches.
    """

    @property
    def batches(self) -> ServerBatches | None: ...


@runtime_checkable
class Startable(Protocol):
    """A backend that loads something before it can answer, such as weights.

    ``start`` blocks. It is called once before the first request is sent, in the thread
    or process that answers. It is not called in a dry run, nor in a run that already
    has all answers. If ``start`` raises an error, the run ends with the message and the
    exit code of the error, and no sample fails. Raise MissingError for a missing file
    or package, and UsageError for arguments that cannot be used on this machine.
    """

    def start(self) -> None: ...


@runtime_checkable
class Loggable(Protocol):
    """A backend that starts a program with a log file.

    ``log_into`` is called before ``start``, with the path of the log file.
    """

    def log_into(self, file: Path) -> None: ...


@runtime_checkable
class Resumable(Protocol):
    """A model backend whose server works on long jobs, such as videos.

    A job may still be running after the process has ended. The backend records its jobs
    in notes, and a resumed run reads the notes to continue the jobs. ``keep_notes_in``
    is called before the first call. Its argument is the folder for notes, which may not
    exist yet. The folder is the same each time the run is resumed. The folder is
    different for another identity, another run name or another shard, and for a run
    that starts over. Without a run folder the method is not called.

    Write a note before waiting for the job. Identify the call by the digest and the
    seed of the request. Do not use its ``key``: the key changes once a failure is
    journalled, while the job may continue. Remove the note when the job fails, because
    a retry is a new job. After an answer the note may remain, because the journal has
    the answer.
    """

    def keep_notes_in(self, folder: Path) -> None: ...


@runtime_checkable
class LocalWork(Protocol):
    """A model backend that computes on this machine, so its calls cost nothing.

    ``usual_connections`` is the default number of simultaneous calls. If it is 0, the
    default for servers is used.
    """

    @property
    def usual_connections(self) -> int: ...


@runtime_checkable
class Parallel(Protocol):
    """A batch backend that can run as several copies.

    Each entry of ``workers`` contains the arguments in which a copy differs from this
    instance, such as ``device``. The core starts a process for each entry. The process
    creates the backend from its name, with the usual arguments and those in the entry.
    If there are entries, this instance is never started or called. A copy must have the
    same identity as this instance, and no ``workers``.
    """

    @property
    def workers(self) -> Sequence[Mapping[str, Any]]: ...


@runtime_checkable
class Watchable(Protocol):
    """A backend whose raw exchanges can be shown.

    If ``watch`` is set, it is called with the bytes of each call and of its reply. The
    bytes never contain an API key.
    """

    watch: Callable[[bytes, bytes], None] | None


@runtime_checkable
class ProgramBackend(Backend, Protocol):
    """An agent: a backend whose program calls other roles.

    See :mod:`mmeval.backend.agent`.
    """

    def program(self, request: Request) -> Program[Response]: ...


@runtime_checkable
class SampleBackend(Backend, Protocol):
    """A backend that answers from the sample.

    Examples are backends for bounds, and for answers that were generated outside
    mmeval. The answers are never shared between samples, and they are not counted as
    model calls.
    """

    def answer(
        self, task: str, sample: Sample, repeat: int, request: Request
    ) -> Response: ...


@dataclass(frozen=True, slots=True)
class TaskAhead:
    """A task of a run that has not started, with its selected and supported samples."""

    name: str
    protocol: str
    repeats: int
    samples: Callable[[], Iterator[Sample]]


@runtime_checkable
class WholeAnswers(SampleBackend, Protocol):
    """A sample backend with complete answers that were generated outside mmeval.

    The backend is called once for each sample and repeat, under any protocol of the
    task. The media of its answers are copied into the run folder. ``foresee`` is called
    before the first sample, so that the backend can log which answers are missing.
    """

    def foresee(self, tasks: Sequence[TaskAhead]) -> None: ...


AnyBackend = ModelBackend | BatchBackend | ProgramBackend | SampleBackend


def workers_of(backend: object) -> Sequence[Mapping[str, Any]]:
    """Returns the arguments of the copies that a backend declares, if any."""
    return (
        tuple(backend.workers)
        if isinstance(backend, Parallel) and isinstance(backend, BatchBackend)
        else ()
    )


def model_name_of(identity: Mapping[str, Any]) -> str:
    """Returns the name of a backend's model, for prices and verdicts.

    If the backend names no model, the result is the name of the backend.
    """
    return str(identity.get("model") or identity.get("backend") or "unnamed")


def hosts_of(backend: Backend) -> str:
    """Returns the hosts that a backend sends calls to.

    The string is empty for a backend that runs on this machine.
    """
    provenance = backend.provenance
    urls = [
        str(backend.identity.get("base_url") or ""),
        *provenance.get("replicas", ()),
    ]
    hosts = dict.fromkeys(urlsplit(url).netloc.rpartition("@")[2] for url in urls)
    return ", ".join(filter(None, hosts)) or str(provenance.get("host") or "")
