"""Micro-batching: calls that wait for a local model are answered together."""

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
"""What a medium counts in a request's length, in characters: a picture takes about a
thousand tokens."""

log = logging.getLogger(__name__)

SHORT_WAIT = 0.02
"""Seconds that a call waits for company when some trials are busy elsewhere."""
WINDOW = 4
"""So many batches' worth of calls are wanted: one that is answered, and some to choose
rows of like length from."""
AHEAD = 8
"""A batch for so many places is wanted ahead, since many of them may be free at the
same moment."""
GROW_AFTER = 16
"""So many batches in a row must have fitted before a larger one is tried again."""


class BatchRow(NamedTuple):
    """A row of a batch."""

    request: Request
    context: CallContext


Deliver: TypeAlias = Callable[[int, Response], None]
"""Takes the response of a row of a batch, by its position."""


class Answerer(Protocol):
    """What answers batches, up to ``places`` of them at once, at least one.
    It calls ``on_places`` when there are more."""

    on_places: Callable[[], None]

    @property
    def places(self) -> int: ...

    async def start(self) -> None:
        """Load what is needed. Raises what keeps the backend from answering."""

    async def answer(self, batch: Sequence[BatchRow], deliver: Deliver) -> int:
        """Answer a batch; ``deliver`` is called in the loop's thread, once for each
        row. Returns the largest batch that memory suffices for where that has shown,
        else 0.

        Raises ModelDiedError where the worker is gone, with open rows; MmevalError
        where no row can be answered any more.
        """

    async def close(self) -> None: ...


@dataclass(slots=True, eq=False)
class _Waiting:
    asked: BatchRow
    future: asyncio.Future[Response]
    since: float
    length: int
    died: str = ""
    """How the model died that was answering this row. Such a row is asked again,
    alone."""
    overtaken: bool = False
    """A full batch of others went first, though this call has waited longer. That
    happens to it once."""
    open: bool = True
    sent: bool = False


_Group: TypeAlias = "list[_Waiting]"


class Batcher:
    """Collects calls into batches whose rows are equal in wanted kinds and parameters.

    A batch goes when it is full, when every live trial is waiting (no other can come),
    or after a short wait. It is cut out of the group that holds the call that has
    waited longest, so that this call is in it and the lengths of its neighbours are
    like its own: padding is what a mixed batch wastes. ``live`` counts trials, not
    nested programs: an agent's inner calls belong to the trial that waits.

    ``size`` is the largest batch; where memory does not suffice for it, ``size`` falls,
    and it is tried ``growths`` times later on whether more rows fit again.
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
        self._again: list[_Waiting] = []
        self._trials: Counter[str] = Counter()
        """How many calls each trial has that are not answered."""
        self._in_flight = self._open_rows = 0
        self._free_since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        answerer.on_places = self._more_places
        self.on_room: Callable[[], None] = lambda: None
        """Called when more calls would keep it busy."""

    @property
    def in_flight(self) -> int:
        """Calls that are in a batch under way and not answered yet."""
        return self._open_rows

    @property
    def width(self) -> int:
        """How many calls keep it busy."""
        places = self._answerer.places
        return (places + max(WINDOW - 1, places // AHEAD)) * self.size

    def _more_places(self) -> None:
        self._consider()
        self.on_room()

    async def start(self) -> None:
        """Get ready to answer. Raises what keeps the backend from it."""
        await self._answerer.start()

    async def ask(self, request: Request, context: CallContext) -> Response:
        """The answer to a request. Raises what concerns every call of the backend."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(
            BatchRow(request, context),
            loop.create_future(),
            loop.time(),
            length(request),
        )
        self._groups.setdefault(likeness(request), []).append(waiting)
        self._trials[context.trial] += 1
        try:
            self._consider()
            return await waiting.future
        finally:
            self._close_call(waiting)

    def stop(self, error: MmevalError) -> None:
        """Make no more batches: waiting calls get ``error``; those under way are
        answered."""
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

    # --- which calls go, and when -----------------------------------------------------

    def _consider(self) -> None:
        """Send what should go now; for what should go later, come back when it is
        time."""
        while batch := self._taken():
            task = asyncio.get_running_loop().create_task(self._serve(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _taken(self) -> list[_Waiting]:
        """The calls that go now to a free place."""
        if self._in_flight >= self._answerer.places:
            return []
        batch: list[_Waiting] = []
        while self._again and not batch:
            call = self._again.pop(0)
            if not call.future.done():
                batch = [call]
        batch = batch or self._due()
        if batch:
            self._in_flight += 1
            self._open_rows += len(batch)
            for call in batch:
                call.sent = True
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        return batch

    def _due(self) -> list[_Waiting]:
        """The next batch, if it should go already."""
        groups: dict[bytes, _Group] = {}
        for key, group in self._groups.items():
            left = [call for call in group if not call.future.done()]
            if left:  # the others were given up
                groups[key] = left
        self._groups = groups
        if not groups:
            return []

        oldest = min(groups.values(), key=lambda group: group[0].since)
        full = [group for group in groups.values() if len(group) >= self.size]
        loop = asyncio.get_running_loop()
        wait = max(oldest[0].since, self._free_since) + SHORT_WAIT - loop.time()
        if len(self._trials) >= self._live() or wait <= 0 or oldest[0].overtaken:
            # no more are expected: an equal part for every free place
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

    def _cut(self, group: _Group, count: int) -> list[_Waiting]:
        """Take a batch out of a group: the first, with those whose lengths are
        nearest."""
        # there is nothing to pad, and with many places there are many to sort
        if count == 1:
            return [group.pop(0)]
        ordered = sorted(group, key=lambda call: call.length)
        begin = least_padded(
            [call.length for call in ordered], ordered.index(group[0]), count
        )
        batch = ordered[begin : begin + count]
        taken = {id(call) for call in batch}
        group[:] = [call for call in group if id(call) not in taken]
        return batch

    def _time_is_up(self) -> None:
        self._timer = None
        self._consider()

    # --- a batch under way ------------------------------------------------------------

    async def _serve(self, batch: list[_Waiting]) -> None:
        """Answer a batch, and then the next ones while some are due. Another task for
        the next one would begin behind the trials that read these answers."""
        while batch:
            await self._answer(batch)
            if batch := self._taken():
                self._consider()

    async def _answer(self, batch: list[_Waiting]) -> None:
        def deliver(position: int, response: Response) -> None:
            self._settle(batch[position], response)

        try:
            most = await self._answerer.answer([call.asked for call in batch], deliver)
            self._learn(len(batch), most)
            self._lost(batch, "the backend gave no answer")
        except ModelDiedError as death:
            self._ask_again(batch, death)
        except MmevalError as error:
            for call in batch:
                self._fail(call, error)
        except Exception as error:  # whatever it is, no call may wait for ever
            self._lost(batch, f"{type(error).__name__}: {error}")
        finally:
            self._in_flight -= 1
            self._free_since = asyncio.get_running_loop().time()

    def _lost(self, batch: Sequence[_Waiting], why: str) -> None:
        for call in batch:
            self._settle(call, Response.failed("internal", why))

    def _ask_again(self, batch: Sequence[_Waiting], death: ModelDiedError) -> None:
        """Ask the rows once more, one by one, so that a fatal row is lost alone."""
        may_be_fatal = not isinstance(death, PlaceLostError)
        for call in batch:
            if not call.open:
                continue
            if call.died and may_be_fatal:
                self._lost(
                    [call],
                    f"{death}; it was answering this request, as it was when it died "
                    "before",
                )
            else:
                call.died = call.died or (str(death) if may_be_fatal else "")
                call.sent = False
                self._open_rows -= 1
                self._again.append(call)

    def _settle(self, call: _Waiting, response: Response) -> None:
        """Answer the call; its future is set a moment later: the next batch goes
        first."""
        if call.open:
            self._close_call(call)
            asyncio.get_running_loop().call_soon(_resolve, call.future, response)

    def _fail(self, call: _Waiting, error: MmevalError) -> None:
        if call.open:
            self._close_call(call)
            if not call.future.done():
                call.future.set_exception(error)

    def _close_call(self, call: _Waiting) -> None:
        """The call is not open any more; its trial may come with another."""
        if not call.open:
            return
        call.open = False
        self._open_rows -= call.sent
        trial = call.asked.context.trial
        self._trials[trial] -= 1
        if not self._trials[trial]:
            del self._trials[trial]

    def _learn(self, rows: int, most: int) -> None:
        """Remember for how many rows memory has not sufficed."""
        if 0 < most < self.size:
            self.size, self._fitted = most, 0
            log.warning(
                "a batch of %d ran out of memory, so the batch size is at most %d from "
                "now on; --batch_size %d begins with that",
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
    """What the rows of a batch have in common."""
    return canonical_json([request.wants, request.params.to_json()])


def length(request: Request) -> int:
    """About how long a request is, in characters."""
    parts = [part for message in request.messages for part in message.content.parts]
    return sum(len(part.raw) if part.media is None else MEDIUM_WEIGHT for part in parts)


def least_padded(
    lengths: Sequence[int],
    wanted: int,
    count: int,
) -> int:
    """Where the least padded slice of ``count`` rising lengths with ``wanted``
    begins."""
    total = [0, *accumulate(lengths)]
    begins = range(
        max(0, wanted - count + 1), max(0, min(wanted, len(lengths) - count)) + 1
    )

    def padding(begin: int) -> int:
        end = min(begin + count, len(lengths))
        return (end - begin) * lengths[end - 1] - (total[end] - total[begin])

    return min(begins, key=padding)
