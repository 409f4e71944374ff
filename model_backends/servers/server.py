"""Starts a server process, waits until it answers, and reports how it ended."""

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
from mmeval.system import ChildProgram, ending, last_lines
from mmeval.system.wording import printable

CHECK_SECONDS, ANSWER_SECONDS = 0.2, 10.0
"""Seconds between two health checks, and the maximum seconds for one check."""
END_SECONDS, DEATH_SECONDS = 5.0, 2.0
"""Seconds in which a server must end.

The first number is the time after SIGTERM. The second is the time in which a server
that no longer answers may end by itself.
"""
_OUT_OF_MEMORY = (
    b"out of memory",
    b"no available memory",
    b"not enough memory",
    b"cannot allocate memory",
    b"free memory on device",
    b"kv cache is needed, which is larger",
)
"""Words in log lines about insufficient memory, in lower case."""
_REPLY_BYTES = 2**20
"""Maximum number of bytes that are read from the server's replies about itself."""
_VERSION_CHARS = 100
_LOG_BYTES, _MAX_CHARS = 2**20, 300
"""How many bytes at the end of the log are searched, and the length of a shown line."""


class Server:
    """A running server.

    ``name`` is its name in messages. ``words`` returns its command line for a port. Its
    output goes to the file ``log``, or to a temporary file.
    """

    def __init__(
        self,
        name: str,
        words: Callable[[int], Sequence[str]],
        log: Path | None,
    ) -> None:
        with socket.socket() as probe:
            # With port 0 the system chooses a free port.
            probe.bind((HOST, 0))
            self.port: int = probe.getsockname()[1]
        self.base_url = f"http://{HOST}:{self.port}/v1"
        self._name, self._path = name, log
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
        self._log = tempfile.TemporaryFile() if log is None else log.open("a+b")  # noqa: SIM115  closed by `end`
        self._log_start = os.fstat(self._log.fileno()).st_size
        self._end_lock, self._last_lines = threading.Lock(), ""
        # With this variable the server would require a key that our calls do not send.
        environment = dict(os.environ)
        environment.pop("VLLM_API_KEY", None)
        stdout_to_stderr = ("/bin/sh", "-c", 'exec "$@" >&2', "sh")
        self._leash = ChildProgram(
            [*stdout_to_stderr, *words(self.port)], errors=self._log, env=environment
        )

    def wait_until_healthy(self, seconds: float) -> None:
        """Waits until the server answers.

        If it does not answer in time, ends the server and raises MmevalError.
        """
        deadline = time.monotonic() + seconds
        # The process is checked too: after its death another program may use its port.
        while self._leash.has_ended or not self._is_healthy():
            if self._leash.has_ended:
                raise MmevalError(
                    f"{self.end()} before it could answer{self._last_lines}"
                )
            if time.monotonic() > deadline:
                self.end()
                raise MmevalError(
                    f"{self._name} is not healthy after {seconds:g} seconds "
                    f"(load_timeout){self._last_lines}"
                )
            time.sleep(CHECK_SECONDS)

    def version(self, path: str) -> str:
        """Returns the server's version, or an empty string if it cannot be read."""
        try:
            version = json.loads(self._get(path)[1])["version"]
        except (OSError, HTTPException, LookupError):
            return ""
        except (ValueError, TypeError, RecursionError):
            return ""
        return printable(str(version), limit=_VERSION_CHARS)

    def is_dead(self) -> bool:
        """Returns True if the server can no longer answer.

        The server's process may still exist.
        """
        if self._leash.has_ended:
            return True
        # After the death of its engine, a server still runs and answers 503. A timeout
        # does not count as death, since a server may only be busy.
        try:
            return self._get("/health")[0] == 503
        except (OSError, HTTPException) as error:
            return isinstance(error, ConnectionError)

    def death(self) -> str:
        """Describes how the server ended.

        If the server's process still exists, it is ended first.
        """
        deadline = time.monotonic() + DEATH_SECONDS
        while not self._leash.has_ended and time.monotonic() < deadline:
            time.sleep(CHECK_SECONDS)
        exists = not self._leash.has_ended
        description = self.end()
        if exists:
            description = f"{self._name} no longer answers"
        return f"{description}{self._last_lines}"

    def end(self) -> str:
        """Ends the server and its child processes, and describes how it ended.

        The server first gets some seconds to end by itself.
        """
        with self._end_lock:
            status = self._leash.end(END_SECONDS, signal.SIGTERM)
            if not self._log.closed:
                self._last_lines = self._describe_log()
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

    def _describe_log(self) -> str:
        """Returns the log lines that describe how the server ended.

        Returns the last line about insufficient memory, which other lines may follow.
        If there is no such line, returns the last lines of the log.
        """
        handle = self._log.fileno()
        start = max(self._log_start, os.fstat(handle).st_size - _LOG_BYTES)
        line = memory_line(os.pread(handle, _LOG_BYTES, start))
        log_path = f"; its log is {self._path}" if self._path else ""
        if not line:
            return f"{last_lines(handle, self._log_start)}{log_path}"
        shown = printable(line.decode("utf-8", "replace").strip(), limit=_MAX_CHARS)
        advice = (
            "another gpu_memory_utilization, a smaller max_model_len, a larger "
            "tensor_parallel_size, or quantization"
        )
        return f"; it wrote: {shown}{log_path}. Memory is insufficient: try {advice}"


def memory_line(log: bytes) -> bytes:
    """Returns the last line of a log about insufficient memory.

    Returns empty bytes if there is no such line. A long line is cut to about
    ``_MAX_CHARS`` bytes around the words. The log is searched without a regular
    expression, because a line may have any length.
    """
    lowered = log.lower()
    place = max(lowered.rfind(words) for words in _OUT_OF_MEMORY)
    if place < 0:
        return b""
    begin = log.rfind(b"\n", 0, place) + 1
    end = log.find(b"\n", place)
    line = log[begin:] if end < 0 else log[begin:end]
    if len(line) <= _MAX_CHARS:
        return line
    middle = place - begin
    return line[max(0, middle - _MAX_CHARS // 2) : middle + _MAX_CHARS // 2]
