"""Collects calls to a local model and answers them together (micro-batching)."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, Protocol, TypeAlias

from mmeval.backend.contract import ModelDiedError, PlaceLostError
from mmeval.errors import MmevalError
from mmeval.records.digests import canonical_json
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.store.call_context import CallContext

MEDIUM_WEIGHT = 4000
"""The number of characters that a medium adds to the length of a request.

A picture takes about a thousand tokens.
"""

log = logging.getLogger(__name__)

SHORT_WAIT = 0.02
"""Seconds that a call waits for further calls while some trials are not waiting for
this model."""
WINDOW = 4
"""Number of batches for which calls are collected.

One batch is being answered. The calls for the other batches offer a choice of rows of
similar length.
"""
AHEAD = 8
"""For every ``AHEAD`` batches that can be answered at once, one further batch is
collected.

Several batches may end at the same moment.
"""
GROW_AFTER = 16
"""Number of consecutive batches that must fit before a larger size is tried again."""


class BatchRow(NamedTuple):
    """A request of a batch, with the context that is needed to journal its answer."""

    request: Request
    context: CallContext


Deliver: TypeAlias = Callable[[int, Response], None]
"""A function that receives the position of a row in its batch, and the response."""


class Answerer(Protocol):
    """Answers up to ``places`` batches at once. ``places`` is at least 1.

    ``on_places`` is called when another batch can be answered.
    """

    on_places: Callable[[], None]

    @property
    def places(self) -> int: ...

    async def start(self) -> None:
        """Loads the model. Raises an error if the backend cannot be loaded."""

    async def answer(self, batch: Sequence[BatchRow], deliver: Deliver) -> int:
        """Answers a batch, and calls ``deliver`` once per row in the loop's thread.

        If memory ran out, returns the largest number of rows that should fit, else 0.
        Raises ModelDiedError if the worker died. Some rows are then still open. Raises
        MmevalError if no further row can be answered.
        """

    async def close(self) -> None: ...


@dataclass(slots=True, eq=False)
class _WaitingCall:
    row: BatchRow
    future: asyncio.Future[Response]
    since: float
    length: int
    died: str = ""
    """How the model died while it was answering this row; empty if it did not die.

    After a death, the row is sent again in its own batch.
    """
    overtaken: bool = False
    """True if a full batch of other calls was sent first.

    A call can be overtaken only once.
    """
    open: bool = True
    sent: bool = False


_Group: TypeAlias = "list[_WaitingCall]"


class Batcher:
    """Collects calls into batches, whose rows have equal output kinds and parameters.

    A batch is sent when it is full, when every live trial is waiting (so no further
    call can arrive), or after a short wait. The batch contains the call that has waited
    longest and calls of similar length, because a mixed batch wastes time on padding.
    ``live`` returns the number of trials in progress. The calls of an agent belong to
    the trial that waits for it. ``size`` is the maximum number of rows in a batch. It
    is lowered if memory runs out, and raised again up to ``growths`` times.
    """

    def __init__(
        self,
        answerer: Answerer,
        live: Callable[[], int],
        size: int,
        *,
        growths: int = 0,
    ) -> None:
        self.size = size
        self._answerer, self._live = answerer, live
        self._most, self._growths, self._fitted = size, growths, 0
        self._groups: dict[bytes, _Group] = {}
        self._again: list[_WaitingCall] = []
        self._trials: Counter[str] = Counter()
        """Number of unanswered calls of each trial."""
        self._in_flight = self._open_rows = 0
        self._free_since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        answerer.on_places = self._more_places
        self.on_room: Callable[[], None] = lambda: None
        """Called when the batcher can take further calls."""

    @property
    def in_flight(self) -> int:
        """Number of calls in running batches that are not answered yet."""
        return self._open_rows

    @property
    def width(self) -> int:
        """Number of calls that keep the model busy, with those of further batches."""
        places = self._answerer.places
        return (places + max(WINDOW - 1, places // AHEAD)) * self.size

    def _more_places(self) -> None:
        self._send_due()
        self.on_room()

    async def start(self) -> None:
        """Loads the model. Raises an error if the backend cannot be loaded."""
        await self._answerer.start()

    async def ask(self, request: Request, context: CallContext) -> Response:
        """Returns the answer to a request. Raises errors that affect every call."""
        loop = asyncio.get_running_loop()
        waiting = _WaitingCall(
            BatchRow(request, context),
            loop.create_future(),
            loop.time(),
            length(request),
        )
        self._groups.setdefault(likeness(request), []).append(waiting)
        self._trials[context.trial] += 1
        try:
            self._send_due()
            return await waiting.future
        finally:
            self._close_call(waiting)

    def stop(self, error: MmevalError) -> None:
        """Sends no more batches.

        Waiting calls raise ``error``. Running batches finish.
        """
        waiting = self._again
        for group in self._groups.values():
            waiting.extend(group)
        self._groups, self._again = {}, []
        for call in waiting:
            self._fail(call, error)

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._answerer.close()

    # --- which calls are sent, and when -----------------------------------------------

    def _send_due(self) -> None:
        """Sends the batches that are due.

        A timer calls this again for later batches.
        """
        while batch := self._take_batch():
            task = asyncio.get_running_loop().create_task(self._serve(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _take_batch(self) -> list[_WaitingCall]:
        """Takes the next batch that is due.

        The list is empty if no batch is due, or if no further batch can be answered
        now.
        """
        if self._in_flight >= self._answerer.places:
            return []
        batch: list[_WaitingCall] = []
        while self._again and not batch:
            call = self._again.pop(0)
            if not call.future.done():
                batch = [call]
        batch = batch or self._due_batch()
        if batch:
            self._in_flight += 1
            self._open_rows += len(batch)
            for call in batch:
                call.sent = True
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        return batch

    def _due_batch(self) -> list[_WaitingCall]:
        """Returns the next batch if it is due, else an empty list."""
        groups: dict[bytes, _Group] = {}
        for key, group in self._groups.items():
            waiting = [call for call in group if not call.future.done()]
            if waiting:  # the others were cancelled
                groups[key] = waiting
        self._groups = groups
        if not groups:
            return []

        oldest = min(groups.values(), key=lambda group: group[0].since)
        full = [group for group in groups.values() if len(group) >= self.size]
        loop = asyncio.get_running_loop()
        wait = max(oldest[0].since, self._free_since) + SHORT_WAIT - loop.time()
        if len(self._trials) >= self._live() or wait <= 0 or oldest[0].overtaken:
            # no further call is expected: split the group evenly between free places
            free = self._answerer.places - self._in_flight
            share = -(-len(oldest) // free)
            return self._cut(oldest, min(self.size, share))
        if oldest in full:
            return self._cut(oldest, self.size)
        if full:
            oldest[0].overtaken = True
            return self._cut(full[0], self.size)
        if self._timer is None:
            self._timer = loop.call_later(wait, self._time_is_up)
        return []

    def _cut(self, group: _Group, count: int) -> list[_WaitingCall]:
        """Takes the oldest call of a group, and calls of similar length, as a batch."""
        # a single row has no padding, and sorting many calls takes time
        if count == 1:
            return [group.pop(0)]
        ordered = sorted(group, key=lambda call: call.length)
        begin = least_padded(
            [call.length for call in ordered], ordered.index(group[0]), count
        )
        batch = ordered[begin : begin + count]
        chosen = {id(call) for call in batch}
        group[:] = [call for call in group if id(call) not in chosen]
        return batch

    def _time_is_up(self) -> None:
        self._timer = None
        self._send_due()

    # --- a running batch --------------------------------------------------------------

    async def _serve(self, batch: list[_WaitingCall]) -> None:
        """Answers a batch, and then further batches as long as one is due."""
        # A new task for the next batch would start only after the trials have read
        # these answers, so the model would be idle meanwhile.
        while batch:
            await self._answer(batch)
            if batch := self._take_batch():
                self._send_due()

    async def _answer(self, batch: list[_WaitingCall]) -> None:
        def deliver(position: int, response: Response) -> None:
            self._settle(batch[position], response)

        try:
            most = await self._answerer.answer([call.row for call in batch], deliver)
            self._adapt_size(len(batch), most)
            self._fail_rows(batch, "the backend gave no answer")
        except ModelDiedError as death:
            self._queue_again(batch, death)
        except MmevalError as error:
            for call in batch:
                self._fail(call, error)
        except Exception as error:  # after any error, no call may wait forever
            self._fail_rows(batch, f"{type(error).__name__}: {error}")
        finally:
            self._in_flight -= 1
            self._free_since = asyncio.get_running_loop().time()

    def _fail_rows(self, batch: Sequence[_WaitingCall], why: str) -> None:
        for call in batch:
            self._settle(call, Response.failed("internal", why))

    def _queue_again(
        self, batch: Sequence[_WaitingCall], death: ModelDiedError
    ) -> None:
        """Queues the open rows again one by one. Only a row that kills the model then
        fails."""
        may_be_fatal = not isinstance(death, PlaceLostError)
        for call in batch:
            if not call.open:
                continue
            if call.died and may_be_fatal:
                self._fail_rows(
                    [call],
                    f"{death}; it died on this request twice",
                )
            else:
                call.died = call.died or (str(death) if may_be_fatal else "")
                call.sent = False
                self._open_rows -= 1
                self._again.append(call)

    def _settle(self, call: _WaitingCall, response: Response) -> None:
        """Answers the call.

        The future of the call is set later, because the next batch must start first.
        """
        if call.open:
            self._close_call(call)
            asyncio.get_running_loop().call_soon(_resolve, call.future, response)

    def _fail(self, call: _WaitingCall, error: MmevalError) -> None:
        if call.open:
            self._close_call(call)
            if not call.future.done():
                call.future.set_exception(error)

    def _close_call(self, call: _WaitingCall) -> None:
        """Closes the call, so that its trial may send another."""
        if not call.open:
            return
        call.open = False
        self._open_rows -= call.sent
        trial = call.row.context.trial
        self._trials[trial] -= 1
        if not self._trials[trial]:
            del self._trials[trial]

    def _adapt_size(self, rows: int, most: int) -> None:
        """Lowers the batch size after memory ran out, and raises it later."""
        if 0 < most < self.size:
            self.size, self._fitted = most, 0
            log.warning(
                "a batch of %d ran out of memory, so the batch size is now at most %d. "
                "Use --batch_size %d to start with it",
                rows,
                most,
                most,
            )
        elif self.size < self._most and rows == self.size:
            self._fitted += 1
            if self._growths and self._fitted >= GROW_AFTER:
                self._growths -= 1
                self.size, self._fitted = min(self._most, 2 * self.size), 0


def _resolve(future: asyncio.Future[Response], response: Response) -> None:
    if not future.done():
        future.set_result(response)


def likeness(request: Request) -> bytes:
    """Returns the key of the group of calls that may share a batch."""
    return canonical_json([request.wants, request.params.to_json()])


def length(request: Request) -> int:
    """Returns the approximate length of a request in characters."""
    parts = [part for message in request.messages for part in message.content.parts]
    return sum(len(part.raw) if part.media is None else MEDIUM_WEIGHT for part in parts)


def least_padded(
    lengths: Sequence[int],
    position: int,
    count: int,
) -> int:
    """Returns the start of the slice of ``count`` lengths with the least padding.

    ``lengths`` are sorted. The slice contains ``position``.
    """
    total = [0, *accumulate(lengths)]
    begins = range(
        max(0, position - count + 1), max(0, min(position, len(lengths) - count)) + 1
    )

    def padding(begin: int) -> int:
        end = min(begin + count, len(lengths))
        return (end - begin) * lengths[end - 1] - (total[end] - total[begin])

    return min(begins, key=padding)
