"""The backend ``process``: sends batches to a program in another environment."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmeval.backend import Capabilities, ModelDiedError
from mmeval.errors import ContentError, MissingError, UsageError
from mmeval.model_backends.process.folders import SharedFolder
from mmeval.model_backends.process.messages import (
    WorkerAnswers,
    failure,
    narrowed,
    row_of,
    shown,
)
from mmeval.model_backends.process.program import WorkerProgram
from mmeval.model_backends.process.settings import (
    MediaTravel,
    ProcessSettings,
    TimeSetting,
    check_program,
    code_digests,
    devices_of,
    words_of,
)
from mmeval.records import Request, Response
from mmeval.system.secrets import without_secrets
from mmeval.system.wording import shortened

_MOST_SOFTWARE = 200
"""Maximum length of the worker's library versions.

The versions are recorded with each answer.
"""

log = logging.getLogger(__name__)


class ProcessBackend:
    """A model that a worker program runs in another environment.

    mmeval and the worker exchange lines of JSON (``docs/process-protocol.md``).
    ``command`` starts the worker in the folder ``cwd``, with ``env`` added to its
    environment. The worker receives ``args`` when it loads its model. ``copies`` is the
    number of workers. Each worker gets its share of ``devices`` (``0+1`` gives one
    device to each of two workers) as CUDA_VISIBLE_DEVICES. With ``copies=0`` this
    process runs the worker.

    ``media`` are sent by ``path``, or ``inline`` as base64. ``code`` lists further
    files and folders that are part of the model. Time limits are in seconds. These
    limit the wait for ``hello``, the time to load the model, and later the time in
    which the worker sends nothing. ``name`` overrides the worker's name. ``takes``,
    ``gives`` (such as ``text+image``) and ``mode`` may narrow the worker's
    capabilities.

    Raises MissingError for a worker that is missing or does not send ``hello``, and
    UsageError for invalid arguments.
    """

    def __init__(
        self,
        *,
        command: str | Sequence[str],
        cwd: str = ".",
        env: Mapping[str, str | int] | None = None,
        args: Mapping[str, Any] | None = None,
        code: str | Sequence[str] = "",
        copies: int | None = None,
        devices: str = "",
        media: MediaTravel = "path",
        hello_timeout: float = 60,
        load_timeout: float = 3600,
        timeout: float = 600,
        name: str = "",
        takes: str = "",
        gives: str = "",
        mode: str = "",
    ) -> None:
        variables = env or {}
        self._settings = ProcessSettings(
            command=words_of(command),
            cwd=Path(cwd).expanduser().absolute(),
            env={name: str(variables[name]) for name in variables},
            args=dict(args or {}),
            media=media,
            hello=TimeSetting(hello_timeout, "hello_timeout"),
            load=TimeSetting(load_timeout, "load_timeout"),
            batch=TimeSetting(timeout, "timeout"),
        )
        is_copy = copies == 0
        self._devices: tuple[str, ...] = (devices,)
        self._workers: tuple[Mapping[str, Any], ...] = ()
        if not is_copy:
            self._devices = devices_of(devices, copies)
            self._workers = tuple(
                {"copies": 0, "devices": device} for device in self._devices
            )
        check_program(self._settings)
        if isinstance(code, str):
            code = code.split("+") if code else ()
        self._code = code_digests(self._settings, code)
        self._program: WorkerProgram | None = WorkerProgram(
            self._settings, self._devices[0]
        )
        self._hello = self._program.hello
        self._is_loaded, self._batches, self._software = False, 0, ""
        try:
            self._capabilities = narrowed(self._hello.capabilities, takes, gives, mode)
        except BaseException:
            self._end()
            raise
        self._name = name or self._hello.name
        if not is_copy:  # each copy answers requests in a separate process
            self._end()

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def identity(self) -> Mapping[str, Any]:
        """The worker's identity, its code, and its arguments without secrets.

        The identity does not depend on where the worker runs.
        """
        optional = {
            "worker": dict(self._hello.identity),
            "code": self._code,
            "args": without_secrets(self._settings.args),
        }
        stated = {name: value for name, value in optional.items() if value}
        return {"backend": "process", "model": self._name} | stated

    @property
    def provenance(self) -> Mapping[str, Any]:
        facts: dict[str, Any] = {"copies": len(self._devices)}
        if any(self._devices):
            facts["devices"] = "+".join(self._devices)
        return facts

    @property
    def workers(self) -> Sequence[Mapping[str, Any]]:
        return self._workers

    @property
    def max_batch_size(self) -> int:
        return self._hello.batch

    def start(self) -> None:
        """Makes the worker load its model. Raises MmevalError if the worker fails."""
        self._loaded()

    def generate_batch(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, Response]]:
        self._batches += 1
        try:
            program = self._loaded()
            with program.folders() as folders:
                rows: list[Mapping[str, Any]] = []
                positions: list[int] = []
                for position, request in enumerate(requests):
                    row = self._row(request, folders.prompts)
                    if isinstance(row, Response):
                        yield position, row
                    else:
                        rows.append(row)
                        positions.append(position)
                if rows:
                    answers = self._answers(program, rows, folders.answers)
                    for number, response in answers:
                        yield positions[number], response
        except ModelDiedError:
            self._program = None
            raise

    def _row(
        self, request: Request, prompts: SharedFolder
    ) -> Mapping[str, Any] | Response:
        """Converts a request to a row, or returns a response with the error."""
        gaps = self._capabilities.missing(request)
        if gaps:
            return Response.failed("unsupported", f"the worker {'; '.join(gaps)}")
        gives_code = self._hello.gives_code
        try:
            return row_of(request, self._settings.media, prompts, gives_code=gives_code)
        except (ContentError, MissingError) as error:
            return Response.failed(
                "bad_request", f"a medium of the prompt cannot be read: {error}"
            )

    def _answers(
        self,
        program: WorkerProgram,
        rows: Sequence[Mapping[str, Any]],
        out: SharedFolder,
    ) -> Iterator[tuple[int, Response]]:
        """Yields the worker's answers to rows.

        Raises ModelDiedError, or the error that the worker reports for the complete
        batch.
        """
        by_path = self._settings.media == "path"
        reader = WorkerAnswers(self._capabilities.outputs, out)
        open_rows = set(range(len(rows)))
        limit, is_complete = self._settings.batch, False
        try:
            batch = {
                "type": "generate",
                "id": self._batches,
                "rows": rows,
                "out": str(out.path) if by_path else None,
            }
            program.send(batch, limit)
            while True:
                message = program.expect("answer", "failed", "done", limit=limit)
                if message.get("id") != self._batches:
                    raise program.end_with_error(
                        f"it answered batch {shown(message.get('id'))} instead of "
                        f"{self._batches}"
                    )
                kind, row = message["type"], message.get("row")
                is_complete = kind == "done" or (kind == "failed" and row is None)
                if is_complete:
                    break
                if type(row) is not int or row not in open_rows:
                    raise program.end_with_error(
                        f"it answered row {shown(row)}, which is not an open row of "
                        f"its batch of {len(rows)}"
                    )
                open_rows.remove(row)
                if kind == "failed":
                    yield row, Response.failed(*failure(message))
                else:
                    response = reader.response(message)
                    yield row, replace(response, fingerprint=self._software)
        finally:
            # Otherwise later messages about this batch would be read as answers to the
            # next batch.
            if not is_complete:
                program.kill()
                self._program = None
        if kind == "done":
            return
        # The error concerns the whole batch. The core repeats its rows one by one.
        kind, reason = failure(message)
        if kind == "out_of_memory":
            raise MemoryError(f"out of memory in the worker: {reason}")
        if len(rows) > 1:
            raise RuntimeError(
                f"the worker failed with a batch of {len(rows)}: {kind}: {reason}"
            )
        yield 0, Response.failed(kind, reason)

    def _loaded(self) -> WorkerProgram:
        """Returns the worker with its model loaded, and restarts it if it has ended."""
        if self._program is None:
            self._program = WorkerProgram(self._settings, self._devices[0])
            self._is_loaded = False
            if self._program.hello != self._hello:
                self._end()
                raise UsageError(
                    "the worker's model has changed: its hello differs from its first "
                    "hello. Start a new run"
                )
        if not self._is_loaded:
            program = self._program
            try:
                library_versions = program.load(
                    self._settings.args, self._settings.load
                )
            except BaseException:
                program.kill()
                self._program = None
                raise
            self._is_loaded = True
            libraries = [f"{name} {value}" for name, value in library_versions.items()]
            self._software = shortened(", ".join(libraries), _MOST_SOFTWARE)
            log.info("the worker has loaded %s (%s)", self._name, self._software)
        return self._program

    def _end(self) -> None:
        program, self._program = self._program, None
        if program is not None:
            program.end()

    async def close(self) -> None:
        self._end()
