"""Answers every row of a batch once, even if other rows fail."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from mmeval.backend.contract import BatchBackend, ModelDiedError, Startable
from mmeval.broker.batcher import BatchRow, Deliver
from mmeval.errors import is_out_of_memory, raised_at
from mmeval.records.request import Request
from mmeval.records.response import ErrorKind, Response
from mmeval.system.threads import OwnThread

_log = logging.getLogger(__name__)


class ThreadAnswerer:
    """Answers batches in one thread of this process, one at a time."""

    places = 1

    def __init__(self, backend: BatchBackend) -> None:
        self._backend = backend
        self._thread = OwnThread("mmeval-batch")
        self.on_places: Callable[[], None] = lambda: None

    async def start(self) -> None:
        if isinstance(self._backend, Startable):
            await self._thread.do(self._backend.start)

    async def answer(self, batch: Sequence[BatchRow], deliver: Deliver) -> int:
        loop = asyncio.get_running_loop()
        requests = [row.request for row in batch]

        def deliver_in_loop(position: int, response: Response) -> None:
            loop.call_soon_threadsafe(deliver, position, response)

        return await self._thread.do(
            lambda: answer_batch(self._backend, requests, deliver_in_loop)
        )

    async def close(self) -> None:
        self._thread.end()


@dataclass
class _Memory:
    """Which sizes of a batch did not fit into memory.

    ``failed`` contains the sizes that did not fit. ``alone`` is True if a single row
    did not fit. Other rows may still fit.
    """

    failed: list[int] = field(default_factory=list)
    alone: bool = False

    @property
    def most(self) -> int:
        """The largest size to try next, or 0 if it is unknown."""
        return 0 if self.alone or not self.failed else max(1, min(self.failed) // 2)


def answer_batch(
    backend: BatchBackend, requests: Sequence[Request], deliver: Deliver
) -> int:
    """Answers every request exactly once, even after an error in the batch.

    After an error, the backend receives the open rows again. If memory ran out, the
    rows are sent in halves, else one by one, so that only a bad row fails. Returns the
    largest number of rows that should fit into memory, or 0 if memory did not run out.
    Raises ModelDiedError, and any error that ``deliver`` raises. In both cases some
    rows are still open.
    """
    memory = _Memory()
    _answer(backend, requests, deliver, memory)
    return memory.most


def _answer(
    backend: BatchBackend,
    requests: Sequence[Request],
    deliver: Deliver,
    memory: _Memory,
) -> None:
    open_rows = set(range(len(requests)))
    started = time.monotonic()
    faults: list[_Fault] = []
    for position, response in _yielded(backend, requests, faults):
        if position in open_rows:
            open_rows.remove(position)
            latency = response.latency or time.monotonic() - started
            deliver(position, replace(response, latency=latency))
    if not open_rows:
        return

    fault = _Fault("internal", "RuntimeError: the backend gave no answer for this row")
    if faults:
        fault = faults[0]
    out_of_memory = fault.kind == "out_of_memory"
    if len(requests) == 1:
        memory.alone |= out_of_memory
        deliver(0, Response.failed(fault.kind, fault.text))
        return
    if out_of_memory:
        memory.failed.append(len(requests))
    positions = sorted(open_rows)
    step = max(1, len(requests) // 2) if out_of_memory else 1
    for start in range(0, len(positions), step):
        part = positions[start : start + step]

        def deliver_part(
            row: int, response: Response, part: Sequence[int] = part
        ) -> None:
            deliver(part[row], response)

        _answer(backend, [requests[p] for p in part], deliver_part, memory)


@dataclass(frozen=True)
class _Fault:
    """The error that ended a batch."""

    # text, not the exception: its frames would keep their memory

    kind: ErrorKind
    text: str


def _yielded(
    backend: BatchBackend, requests: Sequence[Request], faults: list[_Fault]
) -> Iterator[tuple[int, Response]]:
    """Yields the answers of the backend, and adds its error to ``faults``."""
    try:
        for item in backend.generate_batch(requests) or ():
            match item:
                case (int() as position, Response() as response):
                    yield position, response
                case _:
                    raise TypeError(
                        f"the backend gave {item!r:.200}, not a position with a "
                        "Response"
                    )
    except ModelDiedError:  # no model is left for the open rows
        raise
    except BaseException as error:  # a model may fail in any way; the row records how
        message = f"{type(error).__name__}: {error}"
        if is_out_of_memory(error):
            faults.append(_Fault("out_of_memory", message))
            return
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug(
                "an error ended a batch:\n%s",
                "".join(traceback.format_exception(error)).rstrip(),
            )
        faults.append(_Fault("internal", message + raised_at(error, __file__)))
