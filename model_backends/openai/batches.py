"""Batches: chat requests in a file, which the server answers within a day at half the price.

A batch has a name, under which a *note* in the run folder lists its requests. The note is written before anything is
sent, the file is uploaded under the name, and the batch has it in its metadata. So a process that is killed at any step
finds what is there, and neither sends nor pays twice; another run of the same requests has other names.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from mmeval.errors import BackendDownError, Caught, KeyRefusedError, MmevalError
from mmeval.model_backends.openai.failures import CallError, bad_reply, error_in_body, failed, http_error, redacted
from mmeval.model_backends.openai.settings import Settings
from mmeval.model_backends.openai.transport import Outgoing, Received
from mmeval.records import ErrorKind, Request, Response
from mmeval.system import from_line, need, to_line, write_atomic

T = TypeVar("T")

MAX_ROWS = 50_000
MAX_BYTES = 200_000_000
"""Limits of a file: https://platform.openai.com/docs/api-reference/batch/create"""
MAX_RESULT_BYTES = 2**34

FIRST_LOOK, LONGEST_LOOK = 1.0, 60.0
"""Seconds between two looks at a batch; each pause is twice the one before it."""
PATIENCE = 3600.0
"""Seconds that the server may be out of reach: a batch takes hours, and goes on meanwhile."""
LOOK_AGAIN = 10.0

_KEY = "mmeval"
_PATH = "/v1/chat/completions"
_ENDED = ("completed", "expired", "cancelled", "failed")
_CHUNK = 256

log = logging.getLogger(__name__)


class _Batch(NamedTuple):
    """A batch as the server shows it, the ids of its requests that are wanted, and its note."""

    shown: Any
    wanted: frozenset[str]
    note: Path


class ChatBatches:
    """Answers chat requests by the Batch API. Raises MissingExtraError without the package openai.

    ``encode`` and ``decode`` are those of the plain backend, which raise MmevalError; ``is_chat`` tells the requests
    that the Batch API takes.
    """

    max_rows = MAX_ROWS

    def __init__(
        self,
        settings: Settings,
        *,
        encode: Callable[[Request], Outgoing],
        decode: Callable[[Received, Request], Response],
        is_chat: Callable[[Request], bool],
    ) -> None:
        self._openai: Any = need("openai", "batch")
        self._settings, self._encode, self._decode, self._is_chat = settings, encode, decode, is_chat
        self._warned = False

    def takes(self, request: Request) -> bool:
        taken = self._is_chat(request)
        if not taken and not self._warned:
            self._warned = True
            log.warning("batch=true: requests for one picture or sound alone are sent one by one, at the full price")
        return taken

    async def answer(
        self,
        requests: Sequence[Request],
        notes: Path,
        deliver: Callable[[int, Response], None],
        told: Callable[[str], None],
    ) -> None:
        """See :class:`mmeval.backend.contract.ServerBatches`; equal requests with equal seeds are sent once.
        Raises KeyRefusedError, BackendDownError, StorageError."""
        places: dict[str, list[int]] = {}
        for place, request in enumerate(requests):
            places.setdefault(f"{request.digest}-{request.seed}", []).append(place)
        asked = {name: requests[at[0]] for name, at in places.items()}

        def answered(name: str, response: Response) -> None:
            for place in places.pop(name, ()):
                deliver(place, response)

        client = self._client()
        async with client:
            batches = [batch async for batch in self._known(client, notes, asked.keys())]
            new = {name: asked[name] for name in asked.keys() - {name for batch in batches for name in batch.wanted}}
            if len(new) == 1:
                answered(new.popitem()[0], Response.failed("server", "one request alone makes no batch"))
            batches += [batch async for batch in self._created(client, notes, new, answered)]
            done: dict[str, int] = {}

            def count(shown: Any) -> None:
                done[shown.id] = getattr(shown.request_counts, "completed", 0)
                told(f"a batch, {sum(done.values()):,} of {len(asked):,} answered")

            await asyncio.gather(*(self._fetch(client, batch, asked, answered, count) for batch in batches))

    def _client(self) -> Any:
        settings = self._settings
        return self._openai.AsyncOpenAI(
            api_key=settings.api_key or "none",
            base_url=settings.base_url,
            organization=settings.organization or None,
            project=settings.project or None,
            timeout=settings.timeout,
            max_retries=0,  # a batch whose creation seems to have failed may exist, so it is looked for first
        )

    # --- batches that are there, and new ones ------------------------------------------------------------------------

    async def _known(self, client: Any, notes: Path, wanted: Collection[str]) -> AsyncIterator[_Batch]:
        """The batches of this run that hold wanted requests, each request in one of them.
        A file that was uploaded and not used becomes a batch; a note of what never came to the server is deleted."""
        left = set(wanted)
        for note in sorted(notes.glob("*.json")):
            if not (held := frozenset(left.intersection(from_line(note.read_bytes())))):
                continue
            shown = await self._lasting(partial(_found_or_made, client, note.stem))
            if shown is None:
                note.unlink()
                continue
            log.info("batch %s holds %d of the answers that are asked for", shown.id, len(held))
            left -= held
            yield _Batch(shown, held, note)

    async def _created(
        self, client: Any, notes: Path, requests: Mapping[str, Request], answered: Callable[[str, Response], None]
    ) -> AsyncIterator[_Batch]:
        faults: dict[str, Response] = {}
        files = self._files(requests, faults)
        while (file := await asyncio.to_thread(next, files, None)) is not None:
            names, lines = file
            name = uuid.uuid4().hex
            write_atomic(notes / f"{name}.json", to_line(names))
            shown = await self._lasting(partial(_found_or_made, client, name, lines))
            log.info("%d requests are sent as batch %s", len(names), shown.id)
            yield _Batch(shown, frozenset(names), notes / f"{name}.json")
        for name, fault in faults.items():
            answered(name, fault)

    def _files(
        self, requests: Mapping[str, Request], faults: dict[str, Response]
    ) -> Iterator[tuple[Sequence[str], bytes]]:
        """The ids and the lines of each file; ``faults`` gets the requests that cannot be encoded."""
        names: list[str] = []
        lines = bytearray()
        for name, request in requests.items():
            try:
                body = self._encode(request).body
            except MmevalError as error:
                faults[name] = failed(error, self._settings.api_key)
                continue
            head = b'{"custom_id": "%b", "method": "POST", "url": "%b", "body": ' % (name.encode(), _PATH.encode())
            if names and (len(names) == MAX_ROWS or len(lines) + len(head) + len(body) + 2 > MAX_BYTES):
                yield names, bytes(lines)
                names, lines = [], bytearray()
            names.append(name)
            lines += head + body + b"}\n"
        if names:
            yield names, bytes(lines)

    # --- the answers of a batch --------------------------------------------------------------------------------------

    async def _fetch(
        self,
        client: Any,
        batch: _Batch,
        asked: Mapping[str, Request],
        answered: Callable[[str, Response], None],
        count: Callable[[Any], None],
    ) -> None:
        """Wait for a batch to end, and give each wanted request its answer or the reason why it has none."""
        shown, pause = batch.shown, FIRST_LOOK
        count(shown)
        while shown.status not in _ENDED:
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_LOOK)
            shown = await self._lasting(partial(client.batches.retrieve, shown.id))
            count(shown)
        if shown.status == "failed":
            said = [str(error.message) for error in getattr(shown.errors, "data", None) or ()]
            batch.note.unlink(missing_ok=True)
            why = f"the server refused batch {shown.id}: {'; '.join(said[:3]) or 'no reason given'}"
            raise BackendDownError(redacted(why, self._settings.api_key), "mend that, or leave out batch=true")
        left = set(batch.wanted)
        reasons: dict[str, str] = {}
        for file_id in (shown.output_file_id, shown.error_file_id):
            if not file_id:
                continue
            with tempfile.TemporaryFile() as file:
                await self._lasting(partial(self._download, client, file_id, file))
                rows = self._rows(file, asked, reasons)
                while chunk := await asyncio.to_thread(list, islice(rows, _CHUNK)):
                    for name, response in chunk:
                        left.discard(name)
                        answered(name, response)
        kind: ErrorKind = "server"
        told = f"batch {shown.id} ({shown.status}) holds no answer to it"
        if shown.status == "cancelled":  # somebody meant that, so nothing is asked at the full price
            kind, told = "no_answer", f"batch {shown.id} was cancelled; without batch=true this is asked alone"
        for name in left:
            answered(name, Response.failed(kind, reasons.get(name, told) if kind == "server" else told))

    def _rows(
        self, file: BinaryIO, asked: Mapping[str, Request], reasons: dict[str, str]
    ) -> Iterator[tuple[str, Response]]:
        """The responses in a file of results. A line that cannot be read leaves its request without an answer, and
        so does a request that was not made, with the error in ``reasons``."""
        file.seek(0)
        for line in iter(lambda: file.readline(self._settings.max_reply_bytes), b""):
            try:
                row = from_line(line)
                name, reply, error = row["custom_id"], row.get("response"), row.get("error")
                request = asked[name]
                status, body = (int(reply["status_code"]), to_line(reply["body"])) if reply else (0, b"")
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                continue
            if reply:
                yield name, self._response(Received(status, {}, body, 0.0), request)
            else:
                reasons[name] = redacted(error_in_body(error).text, self._settings.api_key)

    def _response(self, received: Received, request: Request) -> Response:
        try:
            if not 200 <= received.status < 300:
                raise http_error(received.status, received.headers, received.body, keyed=True)
            response = self._decode(received, request)
        except MmevalError as error:
            return failed(error, self._settings.api_key)
        return replace(response, usage=replace(response.usage, batched=True))

    async def _download(self, client: Any, file_id: str, file: BinaryIO) -> None:
        file.seek(0)
        file.truncate()
        async with client.files.with_streaming_response.content(file_id) as reply:
            async for piece in reply.iter_bytes():
                file.write(piece)
                if file.tell() > MAX_RESULT_BYTES:
                    raise bad_reply(f"the results of a batch are larger than {MAX_RESULT_BYTES} bytes")

    # --- trouble -----------------------------------------------------------------------------------------------------

    async def _lasting(self, call: Callable[[], Awaitable[T]]) -> T:
        """What a call returns, repeated while the server is out of reach; so it must find what it made before.
        Raises KeyRefusedError, and BackendDownError where the server refuses the call or stays away."""
        loop, began = asyncio.get_running_loop(), None
        while True:
            with Caught() as failure:
                return await call()
            error = self._explained(failure.error)
            text = redacted(f"the Batch API of {self._settings.address}: {error.text}", self._settings.api_key)
            if error.kind == "auth":
                raise KeyRefusedError(text, "fix the key")
            if error.kind not in ("connection", "server", "timeout", "rate_limit"):
                raise BackendDownError(text, "leave out batch=true if the server has no Batch API")
            if began is None:
                began = loop.time()
                log.warning("%s; this is tried again for up to an hour", text)
            if loop.time() - began > PATIENCE:
                raise BackendDownError(text, "bring the server up")
            await asyncio.sleep(LOOK_AGAIN)

    def _explained(self, error: BaseException) -> CallError:
        """An error of the client in our kinds; those of its HTTP library reach us while a file is read."""
        if isinstance(error, CallError):
            return error
        if isinstance(error, self._openai.APIStatusError):
            reply = error.response
            return http_error(reply.status_code, reply.headers, reply.content, keyed=bool(self._settings.api_key))
        if isinstance(error, self._openai.APIConnectionError) or type(error).__module__.startswith("http"):
            return CallError("connection", f"{error.__cause__ or error or type(error).__name__}")
        return CallError("internal", f"{type(error).__name__}: {error}")


async def _found_or_made(client: Any, name: str, lines: bytes = b"") -> Any:
    """The batch of a name: the one that is there, or one of the file that is there, or of these lines.
    None where there is nothing of it."""
    async for batch in client.batches.list(limit=100):
        if (batch.metadata or {}).get(_KEY) == name:
            return batch
    title = f"{_KEY}-{name}.jsonl"
    file_id = ""
    async for file in client.files.list(purpose="batch"):
        if file.filename == title:
            file_id = file.id
            break
    if not file_id:
        if not lines:
            return None
        file_id = (await client.files.create(file=(title, lines), purpose="batch")).id
    return await client.batches.create(
        completion_window="24h", endpoint=_PATH, input_file_id=file_id, metadata={_KEY: name}
    )
