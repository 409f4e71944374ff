"""The backend: batches that a program outside of this environment answers."""

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
    Settings,
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
"""Characters of what the worker says of its libraries, which is recorded with each
answer."""

log = logging.getLogger(__name__)


class ProcessBackend:
    """A model in an environment of its own: a program that speaks by lines of JSON
    (``docs/process-protocol.md``).

    ``command`` starts it, in the folder ``cwd`` and with ``env`` on top of the
    environment; ``args`` are handed to it when it loads its model. ``copies`` starts
    several, of which each sees those of ``devices`` that are its own (``0+1``: one
    each) as CUDA_VISIBLE_DEVICES; with ``copies=0`` the program is one of this process.
    ``media`` go by ``path``, or ``inline`` as base64. ``code`` are more files and
    folders that are part of the model. Times are in seconds: until ``hello``, until the
    model is loaded, and later without a line. ``name`` overrules the worker's;
    ``takes``, ``gives`` (``text+image``) and ``mode`` may narrow what it says of
    itself.

    Raises MissingError for a program that is not there or sends no ``hello``,
    UsageError for arguments.
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
        given = env or {}
        self._settings = Settings(
            command=words_of(command),
            cwd=Path(cwd).expanduser().absolute(),
            env={name: str(given[name]) for name in given},
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
        if not is_copy:  # others answer
            self._end()

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def identity(self) -> Mapping[str, Any]:
        """What the worker says of its model, its code and its arguments, less their
        keys; nothing of where it runs."""
        stated = {
            "worker": dict(self._hello.identity),
            "code": self._code,
            "args": without_secrets(self._settings.args),
        }
        given = {name: value for name, value in stated.items() if value}
        return {"backend": "process", "model": self._name} | given

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
        """Have the worker load its model. Raises MmevalError where it cannot."""
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
        """A request as a row, or why it cannot be asked."""
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
        """What the worker answers to rows. Raises ModelDiedError, and what it says of
        the whole batch."""
        by_path = self._settings.media == "path"
        reader = WorkerAnswers(self._capabilities.outputs, out)
        open_rows = set(range(len(rows)))
        limit, whole = self._settings.batch, False
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
                    raise program.bad(
                        f"it answered batch {shown(message.get('id'))}, and is asked "
                        f"{self._batches}"
                    )
                kind, row = message["type"], message.get("row")
                whole = kind == "done" or (kind == "failed" and row is None)
                if whole:
                    break
                if type(row) is not int or row not in open_rows:
                    raise program.bad(
                        f"it answered row {shown(row)}, which is not open in a batch "
                        f"of {len(rows)}"
                    )
                open_rows.remove(row)
                if kind == "failed":
                    yield row, Response.failed(*failure(message))
                else:
                    response = reader.response(message)
                    yield row, replace(response, fingerprint=self._software)
        finally:
            # what it still says of this batch would be read as answers to the next one
            if not whole:
                program.kill()
                self._program = None
        if kind == "done":
            return
        # the error of a single row; others are asked again
        kind, said = failure(message)
        if kind == "out_of_memory":
            raise MemoryError(f"out of memory in the worker: {said}")
        if len(rows) > 1:
            raise RuntimeError(
                f"the worker failed with a batch of {len(rows)}: {kind}: {said}"
            )
        yield 0, Response.failed(kind, said)

    def _loaded(self) -> WorkerProgram:
        """The program with its model, started anew where it is gone."""
        if self._program is None:
            self._program = WorkerProgram(self._settings, self._devices[0])
            self._is_loaded = False
            if self._program.hello != self._hello:
                self._end()
                raise UsageError(
                    "the worker says another hello than before: its model has changed "
                    "meanwhile"
                )
        if not self._is_loaded:
            program = self._program
            try:
                said = program.load(self._settings.args, self._settings.load)
            except BaseException:
                program.kill()
                self._program = None
                raise
            self._is_loaded = True
            libraries = [f"{name} {value}" for name, value in said.items()]
            self._software = shortened(", ".join(libraries), _MOST_SOFTWARE)
            log.info("the worker has loaded %s: %s", self._name, self._software)
        return self._program

    def _end(self) -> None:
        program, self._program = self._program, None
        if program is not None:
            program.end()

    async def close(self) -> None:
        self._end()
