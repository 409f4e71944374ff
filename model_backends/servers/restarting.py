"""The upkeep of a server: it is started again when it dies, and a call that ends it
fails alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from mmeval.errors import BackendDownError, MmevalError, StoppedError
from mmeval.model_backends.servers.server import LOOK_SECONDS, Server
from mmeval.records import Request, Response
from mmeval.system import OwnThread

DEATHS_IN_A_ROW = 10
"""So many deaths without one answer in between mean that the server cannot answer."""
_AT_ITS_END = frozenset(("connection", "server", "timeout", "unreachable"))
"""Kinds of errors that the end of a server has for its calls."""

log = logging.getLogger(__name__)


class _IsolatedCall(NamedTuple):
    """A call that the server had when it died, twice."""

    request: Request
    answer: asyncio.Future[Response]


class RestartingServer:
    """Asks a server that may die: ``start`` sets ``server`` and blocks until it can
    answer, ``ask`` makes one call."""

    def __init__(
        self,
        start: Callable[[], None],
        ask: Callable[[Request], Awaitable[Response]],
    ) -> None:
        self.server: Server | None = None
        self._start, self._ask = start, ask
        self._deaths = self._open = 0
        self._suspects: list[_IsolatedCall] = []
        self._recovery: asyncio.Task[None] | None = None
        self._lost: MmevalError | None = None

    async def answer(self, request: Request) -> Response:
        """The server's answer. A call that it has when it dies is asked again when it
        is there again; one that it has at two deaths is asked alone. Raises
        BackendDownError where it is not there again."""
        deaths = 0
        while True:
            if self.server is None:
                self._recover_from(None)
            while self._recovery is not None:
                await asyncio.wait([self._recovery])
            if self._lost is not None:
                raise self._lost
            self._open += 1
            try:
                server, response = self.server, await self._ask(request)
                if not await self._is_end_of(server, response):
                    return response
            finally:
                self._open -= 1
            # An unreachable server got nothing, so that is not a death of it.
            if response.error is not None and response.error.kind != "unreachable":
                deaths += 1
            suspect = _IsolatedCall(request, asyncio.get_running_loop().create_future())
            if deaths > 1:
                self._suspects.append(suspect)
            self._recover_from(server)
            if deaths > 1:
                return await suspect.answer

    async def close(self) -> None:
        """End the server. A later call starts another."""
        if self._recovery is not None:
            self._recovery.cancel()
        server, self.server = self.server, None
        if server is not None:
            await asyncio.to_thread(server.end)

    async def _is_end_of(self, server: Server | None, response: Response) -> bool:
        """Whether a call has failed because its server is dead."""
        if response.error is None:
            self._deaths = 0
            return False
        if response.error.kind not in _AT_ITS_END:
            return False
        if server is None or server is not self.server:
            return True
        return await asyncio.to_thread(server.is_dead)

    def _recover_from(self, dead: Server | None) -> None:
        if self._recovery is None:
            self._recovery = asyncio.get_running_loop().create_task(self._recover(dead))

    async def _recover(self, dead: Server | None) -> None:
        """Have a server again in the place of one that is dead, or of none, and ask the
        suspects, one by one: the one that ends it again has failed, and no other. All
        other calls wait until then."""
        try:
            if self.server is dead:
                await self._start_again()
            # they end with the server that had them, and may be suspects
            while self._open:
                await asyncio.sleep(LOOK_SECONDS)
            while self._suspects:
                suspect = self._suspects[0]
                response = await self._ask(suspect.request)
                if await self._is_end_of(self.server, response):
                    death = await self._start_again()
                    said = (
                        f"{death}; it had this request alone, and had it when it died "
                        "twice before"
                    )
                    response = Response.failed("internal", said)
                if not suspect.answer.done():
                    suspect.answer.set_result(response)
                self._suspects.pop(0)
        except MmevalError as error:
            self._lost = error
        finally:
            for suspect in self._suspects:
                if not suspect.answer.done():
                    suspect.answer.set_exception(
                        self._lost or StoppedError("the server was closed")
                    )
            self._suspects.clear()
            self._recovery = None

    async def _start_again(self) -> str:
        """Start the server, and return how the one before it ended. Raises MmevalError
        where that does not help."""
        death, server = "", self.server
        if server is not None:
            death = await asyncio.to_thread(server.death)
            self._deaths += 1
            if self._deaths >= DEATHS_IN_A_ROW:
                said = (
                    f"{death}. It has died {self._deaths} times in a row without an "
                    "answer"
                )
                raise BackendDownError(said, "mend that")
            log.warning(
                "%s. It is started again; the calls that it had are asked again", death
            )
        thread = OwnThread("mmeval-server")
        try:
            await thread.do(self._start)
        except MmevalError as error:
            if not death:
                raise
            raise BackendDownError(
                f"{death}. It cannot be started again: {error}", "mend that"
            ) from error
        finally:
            thread.end()
        return death
