"""The contract of backends, which answer requests."""

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
    """What every backend has. ``identity`` decides what may be reused (model, revision,
    code, dtype, settings that change answers); ``provenance`` is only recorded (library
    versions, machine)."""

    @property
    def capabilities(self) -> Capabilities: ...
    @property
    def identity(self) -> Mapping[str, Any]: ...
    @property
    def provenance(self) -> Mapping[str, Any]: ...
    async def close(self) -> None: ...


@runtime_checkable
class ModelBackend(Backend, Protocol):
    """Answers one request; a failure is a ``Response`` with an error. It is never an
    empty answer. Raising is a defect that is recorded as an ``internal`` error."""

    async def generate(self, request: Request) -> Response: ...


@runtime_checkable
class BatchBackend(Backend, Protocol):
    """A local model: answers several waiting requests at once, in a worker thread.

    Yields ``(position in requests, response)`` in any order, each position once. The
    requests of a batch are equal in ``wants`` and ``params``. Whatever it raises
    concerns the whole batch: its open rows are asked again, in halves when memory ran
    out, else one by one.

    There are never more than ``max_batch_size`` requests in a batch. It may have a
    smaller ``usual_batch_size``, for users who do not set one.
    """

    @property
    def max_batch_size(self) -> int: ...
    def generate_batch(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, Response]]: ...


class ModelDiedError(Exception):
    """The model that was answering a batch is gone; the message is the cause.

    A batch backend raises it where its model runs in a process of its own. The model is
    then started anew, and the open rows are asked once more, one by one: a row that
    ends it twice has failed alone.
    """


class PlaceLostError(ModelDiedError):
    """The machine is gone on which the model was answering, whatever it was asked: no
    row is at fault."""


class ServerBatches(Protocol):
    """How a server answers many requests at once, within hours and for less money.

    ``answer`` calls ``deliver`` for each position; what fails with a retryable kind is
    asked alone then. After a kill it is called again with the same requests or some of
    them: by what it wrote into ``notes``, a folder of the run, it pays for nothing
    twice. ``report`` is called with the progress as text. It may be cancelled, and
    raises MmevalError for what concerns every request.
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
class Batched(Protocol):
    """A model backend whose server also takes batches; ``batches`` is None where its
    user does not ask for them."""

    @property
    def batches(self) -> ServerBatches | None: ...


@runtime_checkable
class Startable(Protocol):
    """A backend that loads something before it can answer, such as weights.

    ``start`` blocks. It is called once before the first request that is sent, in the
    thread or the process that will answer; not at all in a run that has every answer
    already, nor in a dry run. What it raises ends the run with that message and exit
    code, and fails no sample: MissingError for what has to be supplied, UsageError for
    arguments that cannot be used here.
    """

    def start(self) -> None: ...


@runtime_checkable
class Logged(Protocol):
    """A backend that starts a program of its own, which writes a log. ``log_into``
    names the file for it in the run folder, before ``start``."""

    def log_into(self, file: Path) -> None: ...


@runtime_checkable
class Resumable(Protocol):
    """A model backend whose server works on a call for so long that the call may
    outlive the process: a job, such as a video.

    ``keep_notes_in`` names a folder of the run for what it takes to go on with such
    calls, before the first of them. The folder may not exist yet. It is the same one
    whenever the run is resumed, also after a kill, and for this identity alone; a run
    of another name, one that is started over, and each shard have another one.
    Without a run folder it is not called.

    A note is written before the job is waited for. It names its call by what a kill
    does not change: the digest and the seed of the request (its ``key`` changes once a
    failure is journalled, while the job may go on). A note may stay when the call is
    answered: the journal has the answer, and the call is not made again. It is removed
    when the job has failed, as asking again means another job.
    """

    def keep_notes_in(self, folder: Path) -> None: ...


@runtime_checkable
class LocalWork(Protocol):
    """A model backend whose calls are work for this machine: they cost nothing.
    ``usual_connections`` of them are made at a time (0: as many as of any server),
    unless its role says otherwise."""

    @property
    def usual_connections(self) -> int: ...


@runtime_checkable
class Parallel(Protocol):
    """A batch backend that may be copied.

    Each entry of ``workers`` holds the arguments in which one copy differs from this
    one, such as its ``device``. Where there are entries, the core starts a process for
    each, which makes the backend by its name, its arguments and those of its entry, and
    this instance is never started or asked. A copy has the same identity, and no
    workers of its own.
    """

    @property
    def workers(self) -> Sequence[Mapping[str, Any]]: ...


@runtime_checkable
class ProgramBackend(Backend, Protocol):
    """A backend whose program asks other roles for its answer: an agent
    (:mod:`mmeval.backend.agent`)."""

    def program(self, request: Request) -> Program[Response]: ...


@runtime_checkable
class SampleBackend(Backend, Protocol):
    """Answers from the sample, not the request: bounds, answers made elsewhere. Its
    answers are never shared between samples, and never count as those of a model."""

    def answer(
        self, task: str, sample: Sample, repeat: int, request: Request
    ) -> Response: ...


@dataclass(frozen=True, slots=True)
class TaskAhead:
    """A task that a run is going to ask, with the chosen samples that can be asked."""

    name: str
    protocol: str
    repeats: int
    samples: Callable[[], Iterator[Sample]]


@runtime_checkable
class WholeAnswers(SampleBackend, Protocol):
    """A sample backend that has the whole answers already, made elsewhere.

    A sample is put to it once, under any protocol of its task, and its media become the
    run's own. ``foresee`` is called before the first sample, to report on the log what
    is missing.
    """

    def foresee(self, tasks: Sequence[TaskAhead]) -> None: ...


AnyBackend = ModelBackend | BatchBackend | ProgramBackend | SampleBackend


def workers_of(backend: object) -> Sequence[Mapping[str, Any]]:
    """The copies that a backend declares; none for one that answers in this process."""
    return (
        tuple(backend.workers)
        if isinstance(backend, Parallel) and isinstance(backend, BatchBackend)
        else ()
    )


def asked_model(identity: Mapping[str, Any]) -> str:
    """What a backend calls its model; its own name where it has none. Verdicts and
    prices name it."""
    return str(identity.get("model") or identity.get("backend") or "unnamed")


def hosts_of(backend: Backend) -> str:
    """The hosts that a backend's calls go to; empty where that is this machine."""
    stated = backend.provenance
    urls = [str(backend.identity.get("base_url") or ""), *stated.get("replicas", ())]
    hosts = dict.fromkeys(urlsplit(url).netloc.rpartition("@")[2] for url in urls)
    return ", ".join(filter(None, hosts)) or str(stated.get("host") or "")
