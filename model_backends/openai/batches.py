"""Sends chat requests in batches, which the server answers in a day at half the price.

Each batch has a name. A *note* with that name in the run folder lists the batch's
requests. The note is written before anything is sent. The file is uploaded under the
name, and the batch contains the name in its metadata. If the process is killed at any
step, the next process therefore finds what was already created, and the requests are
not sent or paid for twice. Another run of the same requests uses other names.
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
from mmeval.model_backends.openai.settings import OpenAISettings
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
"""The maximum number of requests and of bytes in a file.

Source: https://platform.openai.com/docs/api-reference/batch/create
"""
MAX_RESULT_BYTES = 2**34
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds between two polls of a batch. The pause doubles up to the longest pause."""
PATIENCE, RETRY_PAUSE = 3600.0, 10.0
"""Seconds for which the server may be unreachable, and seconds between attempts."""

_KEY, _PATH = "mmeval", "/v1/chat/completions"

log = logging.getLogger(__name__)


class ChatBatches:
    """Answers chat requests with the Batch API.

    The class implements :class:`mmeval.backend.contract.ServerBatches`. ``encode`` and
    ``decode`` are the methods of the plain backend. ``is_chat`` returns True for
    requests that the API accepts. Raises MissingExtraError if the package openai is
    missing.
    """

    max_rows = MAX_ROWS

    def __init__(
        self,
        settings: OpenAISettings,
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
        # without the lock, a note without a batch could belong to an active call
        # instead of a killed process
        self._creating = asyncio.Lock()

    def takes(self, request: Request) -> bool:
        is_taken = self._is_chat(request)
        if not is_taken and not self._warned:
            self._warned = True
            log.warning(
                "batch=true only applies to chats: requests for a picture, a video or "
                "a sound are sent individually, at the full price"
            )
        return is_taken

    async def answer(
        self,
        requests: Sequence[Request],
        notes: Path,
        deliver: Callable[[int, Response], None],
        report: Callable[[str], None],
    ) -> None:
        """Answers requests. Equal requests with equal seeds are sent once.

        Raises KeyRefusedError, BackendDownError and StorageError.
        """
        places: dict[str, list[int]] = {}
        for place, request in enumerate(requests):
            places.setdefault(f"{request.digest}-{request.seed}", []).append(place)
        open_requests = {name: requests[indices[0]] for name, indices in places.items()}

        def deliver_all(name: str, response: Response) -> None:
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
            # no retries: after a failed creation, the batch may exist anyway, so it
            # must be searched first
            max_retries=0,
        ) as client:
            batches: list[tuple[Any, Path, Mapping[str, Request]]] = []
            async with self._creating:
                for note in sorted(notes.glob("*.json")):
                    try:
                        names = open_requests.keys() & from_line(note.read_bytes())
                    except (ValueError, TypeError) as error:
                        raise StorageError(
                            f"{note} is damaged; remove it to send its requests again, "
                            "at a new cost"
                        ) from error
                    if not names:
                        continue
                    batch = await self._retried(
                        partial(_find_or_create, client, note.stem)
                    )
                    if batch is None:
                        # the process was killed before it sent the file
                        note.unlink()
                        continue
                    log.info(
                        "batch %s contains %d of the requested answers",
                        batch.id,
                        len(names),
                    )
                    batches.append(
                        (batch, note, {name: open_requests.pop(name) for name in names})
                    )
                if len(open_requests) == 1:
                    deliver_all(
                        open_requests.popitem()[0],
                        Response.failed("server", "a batch needs several requests"),
                    )
                for names, lines in self._files(open_requests, deliver_all):
                    note = notes / f"{uuid.uuid4().hex}.json"
                    write_atomic(note, to_line(names))
                    batch = await self._retried(
                        partial(_find_or_create, client, note.stem, lines)
                    )
                    log.info("%d requests were sent as batch %s", len(names), batch.id)
                    batches.append(
                        (batch, note, {name: open_requests[name] for name in names})
                    )
            fetches = [
                self._fetch(client, *batch, deliver=deliver_all, report=report)
                for batch in batches
            ]
            # a failed batch must not cancel the others
            results = await asyncio.gather(*fetches, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
            for names_of_half in (result[::2], result[1::2]):
                repeated = [requests[places[name][0]] for name in names_of_half]
                await self.answer(
                    repeated,
                    notes,
                    lambda place, reply: deliver_all(names_of_half[place], reply),  # noqa: B023
                    report,
                )

    def _files(
        self, requests: Mapping[str, Request], deliver: Callable[[str, Response], None]
    ) -> Iterator[tuple[Sequence[str], bytes]]:
        """Yields the ids and the lines of each file.

        Requests that cannot be encoded get their errors as answers.
        """
        names, lines = list[str](), bytearray()
        for name, request in requests.items():
            try:
                body = self._encode(request).body
            except MmevalError as error:
                deliver(name, failed(error, self._settings.secrets))
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
        requests: Mapping[str, Request],
        *,
        deliver: Callable[[str, Response], None],
        report: Callable[[str], None],
    ) -> Sequence[str]:
        """Waits until a batch has ended, and delivers the answers.

        If a request has no answer, the reason is delivered instead. If the batch is too
        large for the account's queue, returns its requests.
        """
        pause = FIRST_PAUSE
        while batch.status not in ("completed", "expired", "cancelled", "failed"):
            report(progress_of(batch, len(requests)))
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            batch = await self._retried(partial(client.batches.retrieve, batch.id))
        if batch.status == "failed":
            note.unlink()
            errors = getattr(batch.errors, "data", None) or ()
            if any(error.code == "token_limit_exceeded" for error in errors):
                log.warning(
                    "batch %s is too large for the account's queue; it is sent again "
                    "in two halves, one after the other",
                    batch.id,
                )
                return list(requests)
            reasons = [str(error.message) for error in errors]
            reason = redacted(
                f"the server refused batch {batch.id}: {'; '.join(reasons[:3])}",
                self._settings.secrets,
            )
            raise BackendDownError(reason, "fix the cause, or leave out batch=true")
        unanswered = set(requests)
        for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
            with tempfile.TemporaryFile() as file:
                await self._retried(partial(_download, client, file_id, file))
                file.seek(0)
                for name, response in self._rows(file, requests):
                    unanswered.discard(name)
                    deliver(name, response)
        kind: ErrorKind = "server"
        reason = f"batch {batch.id} ({batch.status}) has no answer to this request"
        # the user cancelled the batch on purpose, so do not retry at the full price
        if batch.status == "cancelled":
            kind = "no_answer"
            reason = (
                f"batch {batch.id} was cancelled; leave out batch=true to send this "
                "request at the full price"
            )
        for name in unanswered:
            deliver(name, Response.failed(kind, reason))
        return ()

    def _rows(
        self, file: BinaryIO, requests: Mapping[str, Request]
    ) -> Iterator[tuple[str, Response]]:
        """Yields the responses in a result file.

        Lines without a valid reply are skipped.
        """
        for line in iter(lambda: file.readline(self._settings.max_reply_bytes), b""):
            try:
                row = from_line(line)
                name, reply = row["custom_id"], row["response"]
                request = requests[name]
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
        conversions = tuple(notes(request, self._settings.formats))
        return replace(
            response,
            usage=replace(response.usage, batched=True),
            warnings=(*conversions, *response.warnings),
        )

    async def _retried(self, call: Callable[[], Awaitable[T]]) -> T:
        """Repeats a call while the server is unreachable, and returns its result.

        Therefore ``call`` must find what an earlier attempt has created. Raises
        KeyRefusedError, and BackendDownError if the server refuses the call or remains
        unreachable.
        """
        loop, began = asyncio.get_running_loop(), None
        while True:
            try:
                return await call()
            # the client and its HTTP library raise many types of errors
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
            # while a file is read, the client's HTTP library raises its own errors
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
                log.warning("%s; it is retried for up to an hour", text)
            if loop.time() - began > PATIENCE:
                raise BackendDownError(text, "start the server again")
            await asyncio.sleep(RETRY_PAUSE)


def progress_of(batch: Any, total: int) -> str:
    """Returns the progress of a batch as text.

    The client does not check the server's counts. An invalid count becomes 0.
    """
    completed = getattr(batch.request_counts, "completed", 0)
    if type(completed) is not int or not 0 <= completed <= total:
        completed = 0
    return f"batch {batch.id}, {completed:,} of {total:,} answered"


async def _find_or_create(
    client: Any,
    name: str,
    lines: bytes = b"",
) -> Any:
    """Finds the batch with a name, or creates it.

    A new batch uses the file that was uploaded under the name, or ``lines``. Returns
    None if there is neither a file nor lines.
    """
    async for batch in client.batches.list(limit=100):
        if (batch.metadata or {}).get(_KEY) == name:
            return batch
    title = f"{_KEY}-{name}.jsonl"
    upload = None
    async for file in client.files.list(purpose="batch"):
        if file.filename == title:
            upload = file
            break
    if upload is None:
        if not lines:
            return None
        upload = await client.files.create(file=(title, lines), purpose="batch")
    return await client.batches.create(
        completion_window="24h",
        endpoint=_PATH,
        input_file_id=upload.id,
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
    # the server deletes results after some weeks
    with contextlib.suppress(openai.NotFoundError):
        async with client.files.with_streaming_response.content(file_id) as reply:
            async for piece in reply.iter_bytes():
                file.write(piece)
                if file.tell() > MAX_RESULT_BYTES:
                    raise bad_reply(
                        f"the results of a batch are larger than {MAX_RESULT_BYTES} "
                        "bytes"
                    )
