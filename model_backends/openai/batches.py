"""Batches: chat requests in a file, which the server answers within a day at half the
price.

A batch has a name, under which a *note* in the run folder lists its requests. The note
is written before anything is sent, the file is uploaded under the name, and the batch
has it in its metadata. So a process that is killed at any step finds what is there, and
neither sends nor pays twice; another run of the same requests has other names.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.parse import parse_qsl

from mmeval.errors import (
    BackendDownError,
    KeyRefusedError,
    MmevalError,
    StorageError,
)
from mmeval.model_backends.openai.settings import Settings
from mmeval.model_backends.wire.failures import (
    CallError,
    bad_reply,
    failed,
    redacted,
    without_secrets,
)
from mmeval.model_backends.wire.formats import notes
from mmeval.model_backends.wire.replies.server_errors import http_error
from mmeval.model_backends.wire.transport import HttpReply, HttpRequest
from mmeval.records import ErrorKind, Request, Response
from mmeval.system import from_line, need, to_line, write_atomic

T = TypeVar("T")

MAX_ROWS, MAX_BYTES = 50_000, 200_000_000
"""Limits of a file: https://platform.openai.com/docs/api-reference/batch/create"""
MAX_RESULT_BYTES = 2**34
FIRST_LOOK, LONGEST_LOOK = 1.0, 60.0
"""Seconds between two looks at a batch; each pause is twice the one before it."""
PATIENCE, LOOK_AGAIN = 3600.0, 10.0
"""Seconds that the server may be out of reach, as a batch goes on meanwhile, and
between two tries."""

_KEY, _PATH = "mmeval", "/v1/chat/completions"

log = logging.getLogger(__name__)


class ChatBatches:
    """Answers chat requests by the Batch API
    (:class:`mmeval.backend.contract.ServerBatches`). ``encode`` and ``decode`` are
    those of the plain backend, ``is_chat`` tells the requests that the API takes.

    Raises MissingExtraError without the package openai.
    """

    max_rows = MAX_ROWS

    def __init__(
        self,
        settings: Settings,
        encode: Callable[[Request], HttpRequest],
        decode: Callable[[HttpReply, Request], Response],
        is_chat: Callable[[Request], bool],
    ) -> None:
        self._openai: Any = need("openai", "batch")
        self._settings = settings
        self._encode = encode
        self._decode = decode
        self._is_chat = is_chat
        self._warned = False
        # a note without a batch is another call's, or of a process that was killed
        self._making = asyncio.Lock()

    def takes(self, request: Request) -> bool:
        taken = self._is_chat(request)
        if not taken and not self._warned:
            self._warned = True
            log.warning(
                "batch=true: requests for one picture, video or sound are sent one by "
                "one, at the full price"
            )
        return taken

    async def answer(
        self,
        requests: Sequence[Request],
        notes: Path,
        deliver: Callable[[int, Response], None],
        report: Callable[[str], None],
    ) -> None:
        """Answer; equal requests with equal seeds are sent once.
        Raises KeyRefusedError, BackendDownError, StorageError."""
        places: dict[str, list[int]] = {}
        for place, request in enumerate(requests):
            places.setdefault(f"{request.digest}-{request.seed}", []).append(place)
        left = {name: requests[same[0]] for name, same in places.items()}

        def answered(name: str, response: Response) -> None:
            for place in places.pop(name, ()):
                deliver(place, response)

        headers = dict(self._settings.extra_headers)
        if self._settings.api_key_header:
            headers[self._settings.api_key_header] = self._settings.api_key
        async with self._openai.AsyncOpenAI(
            api_key=self._settings.api_key or "none",
            base_url=self._settings.base_url,
            organization=self._settings.organization or None,
            project=self._settings.project or None,
            timeout=self._settings.timeout,
            default_headers=headers,
            default_query=dict(parse_qsl(self._settings.query)),
            # a batch whose creation seems to have failed may exist, so it is looked
            # for first
            max_retries=0,
        ) as client:
            found: list[tuple[Any, Path, Mapping[str, Request]]] = []
            async with self._making:
                for note in sorted(notes.glob("*.json")):
                    try:
                        names = left.keys() & from_line(note.read_bytes())
                    except (ValueError, TypeError) as error:
                        raise StorageError(
                            f"{note} is damaged; remove it, and what it lists is paid "
                            "again"
                        ) from error
                    if not names:
                        continue
                    batch = await self._lasting(
                        partial(_found_or_made, client, note.stem)
                    )
                    if batch is None:
                        # the process was killed before it had sent the file
                        note.unlink()
                        continue
                    log.info(
                        "batch %s holds %d of the answers that are asked for",
                        batch.id,
                        len(names),
                    )
                    found.append(
                        (batch, note, {name: left.pop(name) for name in names})
                    )
                if len(left) == 1:
                    answered(
                        left.popitem()[0],
                        Response.failed("server", "one request alone makes no batch"),
                    )
                for names, lines in self._files(left, answered):
                    note = notes / f"{uuid.uuid4().hex}.json"
                    write_atomic(note, to_line(names))
                    batch = await self._lasting(
                        partial(_found_or_made, client, note.stem, lines)
                    )
                    log.info("%d requests are sent as batch %s", len(names), batch.id)
                    found.append((batch, note, {name: left[name] for name in names}))
            fetches = [
                self._fetch(client, *batch, answered=answered, report=report)
                for batch in found
            ]
            # one that fails leaves others their answers
            ended = await asyncio.gather(*fetches, return_exceptions=True)
        for refused in ended:
            if isinstance(refused, BaseException):
                raise refused
            for half in (refused[::2], refused[1::2]):
                again = [requests[places[name][0]] for name in half]
                await self.answer(
                    again,
                    notes,
                    lambda place, reply: answered(half[place], reply),  # noqa: B023
                    report,
                )

    def _files(
        self, requests: Mapping[str, Request], answered: Callable[[str, Response], None]
    ) -> Iterator[tuple[Sequence[str], bytes]]:
        """The ids and the lines of each file; requests that cannot be encoded are
        answered with their errors."""
        names, lines = list[str](), bytearray()
        for name, request in requests.items():
            try:
                body = self._encode(request).body
            except MmevalError as error:
                answered(name, failed(error, self._settings.secrets))
                continue
            line = b'{"custom_id": "%b", "method": "POST", "url": "%b", "body": %b}\n'
            line %= name.encode(), _PATH.encode(), body
            if names and (len(names) == MAX_ROWS or len(lines) + len(line) > MAX_BYTES):
                yield names, bytes(lines)
                names, lines = [], bytearray()
            names.append(name)
            lines += line
        if names:
            yield names, bytes(lines)

    async def _fetch(
        self,
        client: Any,
        batch: Any,
        note: Path,
        asked: Mapping[str, Request],
        *,
        answered: Callable[[str, Response], None],
        report: Callable[[str], None],
    ) -> Sequence[str]:
        """Wait until a batch has ended; give each request its answer, or the reason why
        it has none. Those of a batch that the account's queue cannot hold are
        returned."""
        pause = FIRST_LOOK
        while batch.status not in ("completed", "expired", "cancelled", "failed"):
            report(progress_of(batch, len(asked)))
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_LOOK)
            batch = await self._lasting(partial(client.batches.retrieve, batch.id))
        if batch.status == "failed":
            note.unlink()
            errors = getattr(batch.errors, "data", None) or ()
            if any(error.code == "token_limit_exceeded" for error in errors):
                log.warning(
                    "batch %s is too large for the account's queue: it is sent in "
                    "halves, in turn",
                    batch.id,
                )
                return list(asked)
            reasons = [str(error.message) for error in errors]
            why = redacted(
                f"the server refused batch {batch.id}: {'; '.join(reasons[:3])}",
                self._settings.secrets,
            )
            raise BackendDownError(why, "mend that, or leave out batch=true")
        left = set(asked)
        for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
            with tempfile.TemporaryFile() as file:
                await self._lasting(partial(_download, client, file_id, file))
                file.seek(0)
                for name, response in self._rows(file, asked):
                    left.discard(name)
                    answered(name, response)
        kind: ErrorKind = "server"
        why = f"batch {batch.id} ({batch.status}) holds no answer to it"
        if batch.status == "cancelled":  # on purpose, so not asked at the full price
            kind = "no_answer"
            why = (
                f"batch {batch.id} was cancelled; without batch=true this is asked "
                "alone"
            )
        for name in left:
            answered(name, Response.failed(kind, why))
        return ()

    def _rows(
        self, file: BinaryIO, asked: Mapping[str, Request]
    ) -> Iterator[tuple[str, Response]]:
        """The responses in a file of results; a line without a reply, or that cannot be
        read, is not an answer."""
        for line in iter(lambda: file.readline(self._settings.max_reply_bytes), b""):
            try:
                row = from_line(line)
                name, reply = row["custom_id"], row["response"]
                request = asked[name]
                body = without_secrets(to_line(reply["body"]), self._settings.secrets)
                http_reply = HttpReply(int(reply["status_code"]), {}, body, 0.0)
            except (
                ValueError,
                LookupError,
                TypeError,
                OverflowError,
                RecursionError,
            ):
                continue
            yield name, self._response(http_reply, request)

    def _response(self, http_reply: HttpReply, request: Request) -> Response:
        try:
            if not 200 <= http_reply.status < 300:
                raise http_error(
                    http_reply.status,
                    http_reply.headers,
                    http_reply.body,
                    keyed=True,
                    key_name=self._settings.key_name,
                )
            response = self._decode(http_reply, request)
        except MmevalError as error:
            return failed(error, self._settings.secrets)
        reencoded = tuple(notes(request, self._settings.formats))
        return replace(
            response,
            usage=replace(response.usage, batched=True),
            warnings=(*reencoded, *response.warnings),
        )

    async def _lasting(self, call: Callable[[], Awaitable[T]]) -> T:
        """What a call returns, repeated while the server is out of reach; so it must
        find what it made before. Raises KeyRefusedError, and BackendDownError where the
        server refuses the call or stays away."""
        loop, began = asyncio.get_running_loop(), None
        while True:
            try:
                return await call()
            # the client and its HTTP library raise many kinds
            except Exception as raised:
                error = raised
            kind, text = "internal", f"{type(error).__name__}: {error}"
            if isinstance(error, self._openai.APIStatusError):
                reply = error.response
                error = http_error(
                    reply.status_code,
                    reply.headers,
                    reply.content,
                    keyed=bool(self._settings.api_key),
                    key_name=self._settings.key_name,
                )
            if isinstance(error, CallError):
                kind, text = error.kind, error.text
            # errors of the client's HTTP library come while a file is read
            is_http = type(error).__module__.startswith("http")
            if is_http or isinstance(error, self._openai.APIConnectionError):
                kind = "connection"
            text = redacted(
                f"the Batch API of {self._settings.address}: {text}",
                self._settings.secrets,
            )
            if kind == "auth":
                raise KeyRefusedError(text, "fix the key")
            if kind not in ("connection", "server", "timeout", "rate_limit"):
                raise BackendDownError(
                    text, "leave out batch=true if the server has no Batch API"
                )
            if began is None:
                began = loop.time()
                log.warning("%s; this is tried again for up to an hour", text)
            if loop.time() - began > PATIENCE:
                raise BackendDownError(text, "bring the server up")
            await asyncio.sleep(LOOK_AGAIN)


def progress_of(batch: Any, asked: int) -> str:
    """How much of a batch is answered, as far as the server counts it: the client does
    not check what it states."""
    completed = getattr(batch.request_counts, "completed", 0)
    if type(completed) is not int or not 0 <= completed <= asked:
        completed = 0
    return f"batch {batch.id}, {completed:,} of {asked:,} answered"


async def _found_or_made(
    client: Any,
    name: str,
    lines: bytes = b"",
) -> Any:
    """The batch of a name: the one that is there, or one of the file that is there, or
    of these lines. None where there is nothing of it."""
    async for batch in client.batches.list(limit=100):
        if (batch.metadata or {}).get(_KEY) == name:
            return batch
    title = f"{_KEY}-{name}.jsonl"
    sent = None
    async for file in client.files.list(purpose="batch"):
        if file.filename == title:
            sent = file
            break
    if sent is None:
        if not lines:
            return None
        sent = await client.files.create(file=(title, lines), purpose="batch")
    return await client.batches.create(
        completion_window="24h",
        endpoint=_PATH,
        input_file_id=sent.id,
        metadata={_KEY: name},
    )


async def _download(
    client: Any,
    file_id: str,
    file: BinaryIO,
) -> None:
    import openai

    file.seek(0)
    file.truncate()
    # the server keeps results for some weeks
    with contextlib.suppress(openai.NotFoundError):
        async with client.files.with_streaming_response.content(file_id) as reply:
            async for piece in reply.iter_bytes():
                file.write(piece)
                if file.tell() > MAX_RESULT_BYTES:
                    raise bad_reply(
                        f"the results of a batch are larger than {MAX_RESULT_BYTES} "
                        "bytes"
                    )
