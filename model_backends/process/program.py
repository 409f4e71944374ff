"""Runs a worker program: sends and receives lines, and reports how it ended."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from mmeval.backend import ModelDiedError
from mmeval.errors import MissingError, MmevalError
from mmeval.model_backends.process.folders import SharedFolder
from mmeval.model_backends.process.messages import (
    failure,
    read_hello,
    read_line,
    shown,
)
from mmeval.model_backends.process.settings import ProcessSettings, TimeSetting
from mmeval.system import ChildProgram, ending, last_lines, to_line
from mmeval.system.secrets import text_without_values
from mmeval.system.wording import printable

MAX_LINE_BYTES = 2**26
"""Maximum size of a message in bytes. Larger media are sent by path."""
END_SECONDS = 3.0
"""Seconds in which a program must end after mmeval asks it to."""
_CHECK_SECONDS = 0.5
"""Seconds between two checks of a silent program.

A program's child processes may keep its output open after the program has ended.
"""
LOG_LIMITS = 10
"""The time limit is multiplied by this number while a worker only logs."""
_LOG_CHARS, _SHOWN_CHARS = 600, 80
_LEVELS = {"debug": logging.DEBUG, "warning": logging.WARNING, "error": logging.ERROR}

log = logging.getLogger(__name__)


class BatchFolders(NamedTuple):
    """The folders for the media that a worker reads and writes in a batch."""

    prompts: SharedFolder
    answers: SharedFolder


class WorkerProgram:
    """A running worker program, after its ``hello``.

    ``device`` lists the visible accelerators, or is empty for all. The constructor
    raises MissingError without a ``hello``, and UsageError for an invalid ``hello``.
    Other methods raise ModelDiedError if the program has ended, or was ended because it
    was silent for too long or wrote invalid messages.
    """

    def __init__(self, settings: ProcessSettings, device: str = "") -> None:
        # In a copy's process, the worker's errors go to standard error, which is the
        # log of the copy. Otherwise they go to a temporary file.
        self._errors: IO[bytes] | int = 2
        self._errors_start = 0
        if _is_log(2):
            self._errors_start = os.fstat(2).st_size
        else:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by `_close`
        self._buffer = bytearray()
        self._scanned = 0
        self._is_closed = False
        self._secrets = settings.secrets
        environment = settings.environment
        if device:
            environment["CUDA_VISIBLE_DEVICES"] = device
        # The folders are created before the program starts and could interfere.
        scratch = Path(tempfile.mkdtemp(prefix="mmeval-")).resolve()
        self._folders = BatchFolders(
            SharedFolder(scratch / "in"), SharedFolder(scratch / "out")
        )
        try:
            self._leash = ChildProgram(
                settings.command,
                errors=self._errors,
                cwd=settings.cwd,
                env=environment,
                scratch=scratch,
                hidden=self._secrets,
            )
        except BaseException:
            self._close()
            raise
        for pipe in (self._leash.stdin, self._leash.stdout):
            os.set_blocking(pipe.fileno(), False)
        try:
            self.hello = read_hello(self.expect("hello", limit=settings.hello))
        except ModelDiedError as death:
            raise MissingError(
                f"command: the worker has not sent hello: {death}", name="command"
            ) from None
        except BaseException:
            self.kill()
            raise

    def load(
        self,
        args: Mapping[str, Any],
        limit: TimeSetting,
    ) -> Mapping[str, Any]:
        """Makes the worker load its model, and returns the versions of its libraries.

        Raises MmevalError if the worker cannot load the model.
        """
        try:
            self.send({"type": "load", "args": dict(args)}, limit)
            message = self.expect("ready", "failed", limit=limit)
        except ModelDiedError as death:
            raise MmevalError(f"the worker could not load its model: {death}") from None
        if message["type"] == "failed":
            kind, reason = failure(message)
            raise MmevalError(f"the worker could not load its model ({kind}): {reason}")
        provenance = message.get("provenance")
        return provenance if isinstance(provenance, dict) else {}

    def send(self, message: Mapping[str, Any], limit: TimeSetting) -> None:
        """Writes a message.

        The program's output is read at the same time. Otherwise each side could wait
        for the other.
        """
        unsent = memoryview(to_line(message) + b"\n")
        deadline = time.monotonic() + limit.seconds
        while unsent:
            if self._wait(deadline, limit, sending=True):
                try:
                    unsent = unsent[os.write(self._leash.stdin.fileno(), unsent) :]
                except BlockingIOError:
                    continue
                except OSError:
                    raise self._death() from None
                deadline = time.monotonic() + limit.seconds

    def expect(self, *types: str, limit: TimeSetting) -> dict[str, Any]:
        """Returns the next message, which must have one of ``types``.

        Log messages are logged. ``limit`` is the maximum time without a line.
        ``LOG_LIMITS`` times ``limit`` is the maximum time with log lines only.
        """
        deadline = time.monotonic() + LOG_LIMITS * limit.seconds
        while True:
            line = self._line(limit)
            try:
                # The worker may repeat the user's keys.
                message = read_line(line, hidden=self._secrets)
            except (ValueError, RecursionError) as error:
                raise self.end_with_error(
                    f"it wrote a line that is not a message ({error}): "
                    f"{self._shown(line)}"
                ) from None
            if message["type"] == "log":
                level_name = str(message.get("level")).lower()
                level = _LEVELS.get(level_name, logging.INFO)
                log.log(
                    level,
                    "worker: %s",
                    printable(str(message.get("text")), limit=_LOG_CHARS),
                )
                if time.monotonic() > deadline:
                    raise self.end_with_error(
                        f"it sent only log messages for {LOG_LIMITS} times {limit}"
                    )
            elif message["type"] in types:
                return message
            else:
                expected = " or ".join(types)
                raise self.end_with_error(
                    f"it sent a message of type {shown(message['type'])}, expected: "
                    f"{expected}"
                )

    @contextlib.contextmanager
    def folders(self) -> Iterator[BatchFolders]:
        """Provides the folders for one batch's media, and empties them after the batch.

        All batches share the folders, because creating them takes longer than a short
        answer.
        """
        try:
            yield self._folders
        finally:
            if not self._is_closed:
                for folder in self._folders:
                    folder.empty()
        if self._is_closed:
            return
        # A worker that has replaced a folder would not see the media of the next batch.
        for folder in self._folders:
            if not folder.is_in_place:
                raise self.end_with_error("it has replaced a media folder")

    def end_with_error(self, reason: str) -> ModelDiedError:
        """Ends a program that can no longer be trusted. Returns the error to raise."""
        self._leash.kill()
        last_lines_text = self._last_error_lines()
        self._close()
        return ModelDiedError(f"the worker was ended: {reason}{last_lines_text}")

    def end(self) -> None:
        """Asks the program to end. Kills it if it does not end within some seconds."""
        try:
            self.send({"type": "end"}, TimeSetting(END_SECONDS))
        except ModelDiedError:
            return
        self._leash.end(END_SECONDS)
        self._close()

    def kill(self) -> None:
        self._leash.kill()
        self._close()

    # --- bytes ------------------------------------------------------------------------

    def _line(self, limit: TimeSetting) -> bytes:
        deadline = time.monotonic() + limit.seconds
        while (end := self._buffer.find(b"\n", self._scanned)) < 0:
            self._scanned = len(self._buffer)
            if self._scanned > MAX_LINE_BYTES:
                raise self.end_with_error(
                    f"it wrote a line of more than {MAX_LINE_BYTES >> 20} MiB: "
                    f"{self._shown(self._buffer)}"
                )
            self._wait(deadline, limit)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._scanned = 0
        return line

    def _wait(
        self,
        deadline: float,
        limit: TimeSetting,
        *,
        sending: bool = False,
    ) -> bool:
        """Waits for one of the pipes, and reads the output.

        Returns True if the program's input can be written to.
        """
        poll = select.poll()
        stdin, stdout = self._leash.stdin.fileno(), self._leash.stdout.fileno()
        poll.register(stdout, select.POLLIN)
        if sending:
            poll.register(stdin, select.POLLOUT)
        seconds_left = deadline - time.monotonic()
        ready = dict(poll.poll(1000 * max(0.0, min(seconds_left, _CHECK_SECONDS))))
        if stdout in ready:
            piece = os.read(stdout, 1 << 20)
            if not piece:
                raise self._death()
            self._buffer += piece
            # The buffer only grows this large if the worker writes without reading.
            if len(self._buffer) > 2 * MAX_LINE_BYTES:
                raise self.end_with_error(
                    f"it wrote more than {2 * MAX_LINE_BYTES >> 20} MiB before it read "
                    "its input"
                )
        elif not ready and self._leash.has_ended:
            raise self._death()
        if seconds_left <= 0 and sending and stdin not in ready:
            raise self.end_with_error(f"it has not read its input for {limit}")
        if seconds_left <= 0 and not ready:
            raise self.end_with_error(f"it has not written a line for {limit}")
        return stdin in ready

    # --- its end ----------------------------------------------------------------------

    def _death(self) -> ModelDiedError:
        """Returns the error that describes how the program ended."""
        cut = ""
        if self._buffer:
            cut = f" in the middle of a line ({self._shown(self._buffer)})"
        status = self._leash.end(END_SECONDS)
        error_lines = self._last_error_lines()
        self._close()
        return ModelDiedError(
            f"the worker's program {ending(status)}{cut}{error_lines}"
        )

    def _last_error_lines(self) -> str:
        """Returns the last lines of the program's error stream."""
        handle = self._errors
        if not isinstance(handle, int):
            handle = handle.fileno()
        return last_lines(handle, self._errors_start)

    def _shown(self, line: bytes | bytearray) -> str:
        # Keys are replaced before the text is cut, since a cut could split a key.
        text = line[: 10 * _SHOWN_CHARS].decode("utf-8", "replace")
        return repr(text_without_values(text, self._secrets)[:_SHOWN_CHARS])

    def _close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        for folder in self._folders:
            folder.close()
        if not isinstance(self._errors, int):
            self._errors.close()


def _is_log(handle: int) -> bool:
    """Returns True if a descriptor is a regular file that can also be read."""
    import fcntl

    try:
        is_file = stat.S_ISREG(os.fstat(handle).st_mode)
        return is_file and fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_RDWR != 0
    except OSError:
        return False
