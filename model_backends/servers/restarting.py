"""Restarts a server that dies. Only the call that makes it die fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from mmeval.errors import BackendDownError, MmevalError, StoppedError
from mmeval.model_backends.servers.server import CHECK_SECONDS, Server
from mmeval.records import Request, Response
from mmeval.system import OwnThread

DEATHS_IN_A_ROW = 10
"""Number of deaths, without an answer in between, after which a server is given up."""
_ERRORS_AT_DEATH = frozenset(("connection", "server", "timeout", "unreachable"))
"""The kinds of errors with which calls fail when their server dies."""

log = logging.getLogger(__name__)


class _IsolatedCall(NamedTuple):
    """A call that is sent alone, since it was open both times when the server died."""

    request: Request
    answer: asyncio.Future[Response]


class RestartingServer:
    """Sends calls to a server that may die.

    ``start`` sets ``server`` and blocks until the server answers. ``send`` makes one
    call.
    """

    def __init__(
        self,
        start: Callable[[], None],
        send: Callable[[Request], Awaitable[Response]],
    ) -> None:
        self.server: Server | None = None
        self._start, self._send = start, send
        self._deaths = self._open_calls = 0
        self._isolated: list[_IsolatedCall] = []
        self._recovery: asyncio.Task[None] | None = None
        self._failure: MmevalError | None = None

    async def answer(self, request: Request) -> Response:
        """Returns the server's answer.

        A call that is open when the server dies is sent again after the restart. If the
        server dies again during the call, the call is then sent alone. Raises
        BackendDownError if the server cannot be restarted.
        """
        deaths = 0
        while True:
            if self.server is None:
                self._recover_from(None)
            while self._recovery is not None:
                await asyncio.wait([self._recovery])
            if self._failure is not None:
                raise self._failure
            self._open_calls += 1
            try:
                server, response = self.server, await self._send(request)
                if not await self._is_end_of(server, response):
                    return response
            finally:
                self._open_calls -= 1
            # An unreachable server did not receive the call, so this death does not
            # count.
            if response.error is not None and response.error.kind != "unreachable":
                deaths += 1
            isolated = _IsolatedCall(
                request, asyncio.get_running_loop().create_future()
            )
            if deaths > 1:
                self._isolated.append(isolated)
            self._recover_from(server)
            if deaths > 1:
                return await isolated.answer

    async def close(self) -> None:
        """Ends the server. A later call starts a new server."""
        if self._recovery is not None:
            self._recovery.cancel()
        server, self.server = self.server, None
        if server is not None:
            await asyncio.to_thread(server.end)

    async def _is_end_of(self, server: Server | None, response: Response) -> bool:
        """Returns True if a call has failed because its server is dead."""
        if response.error is None:
            self._deaths = 0
            return False
        if response.error.kind not in _ERRORS_AT_DEATH:
            return False
        # Another call has already noticed the death and replaced the server.
        if server is None or server is not self.server:
            return True
        return await asyncio.to_thread(server.is_dead)

    def _recover_from(self, dead: Server | None) -> None:
        if self._recovery is None:
            self._recovery = asyncio.get_running_loop().create_task(self._recover(dead))

    async def _recover(self, dead: Server | None) -> None:
        """Replaces a dead server, and then sends the isolated calls one by one.

        If ``dead`` is None, starts the first server. An isolated call fails if the
        server dies again during it. All other calls wait until the isolated calls have
        ended.
        """
        try:
            if self.server is dead:
                await self._start_again()
            # Open calls fail when their server dies, and may have to be isolated.
            while self._open_calls:
                await asyncio.sleep(CHECK_SECONDS)
            while self._isolated:
                isolated = self._isolated[0]
                response = await self._send(isolated.request)
                if await self._is_end_of(self.server, response):
                    death = await self._start_again()
                    message = (
                        f"{death}; this request was the only open one, and was also "
                        "open at the two previous deaths"
                    )
                    response = Response.failed("internal", message)
                if not isolated.answer.done():
                    isolated.answer.set_result(response)
                self._isolated.pop(0)
        except MmevalError as error:
            self._failure = error
        finally:
            for isolated in self._isolated:
                if not isolated.answer.done():
                    isolated.answer.set_exception(
                        self._failure or StoppedError("the server was closed")
                    )
            self._isolated.clear()
            self._recovery = None

    async def _start_again(self) -> str:
        """Starts the server again, and returns how the previous server ended.

        Raises MmevalError if the start fails.
        """
        death, server = "", self.server
        if server is not None:
            death = await asyncio.to_thread(server.death)
            self._deaths += 1
            if self._deaths >= DEATHS_IN_A_ROW:
                message = (
                    f"{death}. It has died {self._deaths} times in a row without an "
                    "answer"
                )
                raise BackendDownError(message, "fix the cause")
            log.warning("%s. It is started again, and its calls are sent again", death)
        thread = OwnThread("mmeval-server")
        try:
            await thread.do(self._start)
        except MmevalError as error:
            if not death:
                raise
            raise BackendDownError(
                f"{death}. It cannot be started again: {error}", "fix the cause"
            ) from error
        finally:
            thread.end()
        return death
