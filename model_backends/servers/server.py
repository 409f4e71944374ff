"""A server at work: started on its leash, waited for, and its end put into words."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from mmeval.errors import MmevalError
from mmeval.model_backends.servers.programs import HOST
from mmeval.system import Leash, ending, last_lines
from mmeval.system.wording import printable

LOOK_SECONDS, ANSWER_SECONDS = 0.2, 10.0
"""Between two looks whether it is healthy, and how long it may take to say so."""
END_SECONDS, DEATH_SECONDS = 5.0, 2.0
"""How long it may take to end after SIGTERM, and once it answers no more."""
_OUT_OF_MEMORY = (
    b"out of memory",
    b"no available memory",
    b"not enough memory",
    b"cannot allocate memory",
    b"free memory on device",
    b"kv cache is needed, which is larger",
)
"""What a line of the log holds, in lower case, where memory did not suffice."""
_REPLY_BYTES = 2**20
"""Of its replies about itself: more is not read."""
_VERSION_CHARS = 100
_LOG_BYTES, _MOST_CHARS = 2**20, 300
"""Of the end of its log that is searched, and of a line that is shown."""


class Server:
    """One start of a server. ``name`` is what messages call it, ``words`` its command
    line for a port.

    What it writes goes into the file ``log``, else into a temporary one.
    """

    def __init__(
        self,
        name: str,
        words: Callable[[int], Sequence[str]],
        log: Path | None,
    ) -> None:
        with socket.socket() as probe:
            # a port that is free
            probe.bind((HOST, 0))
            self.port: int = probe.getsockname()[1]
        self.base_url = f"http://{HOST}:{self.port}/v1"
        self._name, self._path = name, log
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
        self._log = tempfile.TemporaryFile() if log is None else log.open("a+b")  # noqa: SIM115  closed by `end`
        self._begin = os.fstat(self._log.fileno()).st_size
        self._ending, self._said = threading.Lock(), ""
        # A key that the server would ask for is nothing that its calls have.
        environment = dict(os.environ)
        environment.pop("VLLM_API_KEY", None)
        in_one_stream = ("/bin/sh", "-c", 'exec "$@" >&2', "sh")
        self._leash = Leash(
            [*in_one_stream, *words(self.port)], errors=self._log, env=environment
        )

    def wait_until_healthy(self, seconds: float) -> None:
        """Wait until it can answer. Raises MmevalError where it cannot; it is ended
        then."""
        until = time.monotonic() + seconds
        # another program may have taken its port
        while self._leash.has_ended or not self._is_healthy():
            if self._leash.has_ended:
                raise MmevalError(f"{self.end()} before it could answer{self._said}")
            if time.monotonic() > until:
                self.end()
                raise MmevalError(
                    f"{self._name} is not healthy after {seconds:g} seconds "
                    f"(load_timeout){self._said}"
                )
            time.sleep(LOOK_SECONDS)

    def version(self, path: str) -> str:
        """What it says of its version; empty where that cannot be read."""
        try:
            version = json.loads(self._get(path)[1])["version"]
        except (OSError, HTTPException, LookupError):
            return ""
        except (ValueError, TypeError, RecursionError):
            return ""
        return printable(str(version), limit=_VERSION_CHARS)

    def is_dead(self) -> bool:
        """Whether it cannot answer any more, though its program may still be there."""
        if self._leash.has_ended:
            return True
        try:
            return self._get("/health")[0] == 503
        except (OSError, HTTPException) as error:
            return isinstance(error, ConnectionError)

    def death(self) -> str:
        """How it ended, in words; one that is dead and still there is ended."""
        until = time.monotonic() + DEATH_SECONDS
        while not self._leash.has_ended and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
        is_there = not self._leash.has_ended
        how = self.end()
        if is_there:
            how = f"{self._name} answers no more"
        return f"{how}{self._said}"

    def end(self) -> str:
        """End it with all that it has started; how it ended. It is given some seconds
        to do so itself."""
        with self._ending:
            status = self._leash.end(END_SECONDS, signal.SIGTERM)
            if not self._log.closed:
                self._said = self._last_words()
                self._log.close()
            return f"{self._name} {ending(status)}"

    def _is_healthy(self) -> bool:
        with contextlib.suppress(OSError, HTTPException):
            return self._get("/health")[0] == 200
        return False

    def _get(self, path: str) -> tuple[int, bytes]:
        connection = HTTPConnection(HOST, self.port, timeout=ANSWER_SECONDS)
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            return reply.status, reply.read(_REPLY_BYTES)
        finally:
            connection.close()

    def _last_words(self) -> str:
        """What its log holds of its end: of memory that has run out the line that says
        so, which others follow."""
        handle = self._log.fileno()
        begin = max(self._begin, os.fstat(handle).st_size - _LOG_BYTES)
        line = memory_line(os.pread(handle, _LOG_BYTES, begin))
        where = f"; its log is {self._path}" if self._path else ""
        if not line:
            return f"{last_lines(handle, self._begin)}{where}"
        said = printable(line.decode("utf-8", "replace").strip(), limit=_MOST_CHARS)
        advice = (
            "another gpu_memory_utilization, a smaller max_model_len, a larger "
            "tensor_parallel_size, or quantization"
        )
        return f"; it wrote: {said}{where}. Its memory does not suffice: try {advice}"


def memory_line(log: bytes) -> bytes:
    """The last line of a log that says that memory has run out; empty where none does.
    Of a long line about ``_MOST_CHARS`` bytes around these words. No regular expression
    searches for it: a server may write a line of any length."""
    lowered = log.lower()
    place = max(lowered.rfind(words) for words in _OUT_OF_MEMORY)
    if place < 0:
        return b""
    begin = log.rfind(b"\n", 0, place) + 1
    end = log.find(b"\n", place)
    line = log[begin:] if end < 0 else log[begin:end]
    if len(line) <= _MOST_CHARS:
        return line
    middle = place - begin
    return line[max(0, middle - _MOST_CHARS // 2) : middle + _MOST_CHARS // 2]
