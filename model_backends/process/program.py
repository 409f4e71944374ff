"""A worker's program at work: lines are sent and received, and its end is put into
words."""

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
from mmeval.model_backends.process.settings import Settings, TimeSetting
from mmeval.system import Leash, ending, last_lines, to_line
from mmeval.system.secrets import text_without_values
from mmeval.system.wording import printable

MAX_LINE_BYTES = 2**26
"""Limit of a message, in bytes. Larger media are sent by path."""
END_SECONDS = 3.0
"""How long a program may take to end when it is asked to."""
_LOOK_SECONDS = 0.5
"""How often the program is looked after while nothing comes: what it has started may
hold its output open."""
LOG_LIMITS = 10
"""A worker that only logs is waited for so many times as long as one that is
silent."""
_LOG_CHARS, _SHOWN_CHARS = 600, 80
_LEVELS = {"debug": logging.DEBUG, "warning": logging.WARNING, "error": logging.ERROR}

log = logging.getLogger(__name__)


class BatchFolders(NamedTuple):
    """Where media of a batch lie that its worker reads and writes."""

    prompts: SharedFolder
    answers: SharedFolder


class WorkerProgram:
    """A program that speaks the protocol, on its leash, after its ``hello``.

    ``device`` is what it sees of the machine's accelerators, empty for all. Raises
    MissingError where no ``hello`` comes, UsageError for one that cannot be used. The
    other methods raise ModelDiedError where the program has ended, or had to be ended:
    it is silent for too long, or says what is not a message.
    """

    def __init__(self, settings: Settings, device: str = "") -> None:
        # In a copy's process its error stream is that copy's log, which is its standard
        # error, from here on. Else it is a file without a name.
        self._errors: IO[bytes] | int = 2
        self._from = 0
        if _is_log(2):
            self._from = os.fstat(2).st_size
        else:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by `_close`
        self._read = bytearray()
        self._scanned = 0
        self._is_closed = False
        self._secrets = settings.secrets
        environment = settings.environment
        if device:
            environment["CUDA_VISIBLE_DEVICES"] = device
        # all of it is made before the program can do anything there
        scratch = Path(tempfile.mkdtemp(prefix="mmeval-")).resolve()
        self._folders = BatchFolders(
            SharedFolder(scratch / "in"), SharedFolder(scratch / "out")
        )
        try:
            self._leash = Leash(
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
                f"command: the worker has sent no hello: {death}", name="command"
            ) from None
        except BaseException:
            self.kill()
            raise

    def load(
        self,
        args: Mapping[str, Any],
        limit: TimeSetting,
    ) -> Mapping[str, Any]:
        """Have it load its model; returns what it says of its libraries. Raises
        MmevalError where it cannot."""
        try:
            self.send({"type": "load", "args": dict(args)}, limit)
            message = self.expect("ready", "failed", limit=limit)
        except ModelDiedError as death:
            raise MmevalError(f"the worker could not load its model: {death}") from None
        if message["type"] == "failed":
            kind, said = failure(message)
            raise MmevalError(f"the worker could not load its model ({kind}): {said}")
        provenance = message.get("provenance")
        return provenance if isinstance(provenance, dict) else {}

    def send(self, message: Mapping[str, Any], limit: TimeSetting) -> None:
        """Write a message. What the program writes meanwhile is read, or both would
        wait for each other."""
        left = memoryview(to_line(message) + b"\n")
        until = time.monotonic() + limit.seconds
        while left:
            if self._wait(until, limit, sending=True):
                try:
                    left = left[os.write(self._leash.stdin.fileno(), left) :]
                except BlockingIOError:
                    continue
                except OSError:
                    raise self._death() from None
                until = time.monotonic() + limit.seconds

    def expect(self, *types: str, limit: TimeSetting) -> dict[str, Any]:
        """The next message, of one of some types; ``limit`` is how long no line may
        come, and ``LOG_LIMITS`` times that how long nothing but lines of a log may
        come. What it logs is logged."""
        until = time.monotonic() + LOG_LIMITS * limit.seconds
        while True:
            line = self._line(limit)
            try:
                # the worker may repeat the user's keys
                message = read_line(line, hidden=self._secrets)
            except (ValueError, RecursionError) as error:
                raise self.bad(
                    f"it wrote a line that is not a message ({error}): "
                    f"{self._shown(line)}"
                ) from None
            if message["type"] == "log":
                stated = str(message.get("level")).lower()
                level = _LEVELS.get(stated, logging.INFO)
                log.log(
                    level,
                    "worker: %s",
                    printable(str(message.get("text")), limit=_LOG_CHARS),
                )
                if time.monotonic() > until:
                    raise self.bad(f"it has only logged for {LOG_LIMITS} times {limit}")
            elif message["type"] in types:
                return message
            else:
                wanted = " or ".join(types)
                raise self.bad(
                    f"it sent a message of the type {shown(message['type'])} where "
                    f"{wanted} is due"
                )

    @contextlib.contextmanager
    def folders(self) -> Iterator[BatchFolders]:
        """The folders for the media of one batch, which are emptied after it. All
        batches have the same: to make and remove some takes longer than a short
        answer."""
        try:
            yield self._folders
        finally:
            if not self._is_closed:
                for folder in self._folders:
                    folder.empty()
        # the next batch would lie elsewhere for the worker than it does here
        if not self._is_closed and not all(each.is_in_place for each in self._folders):
            raise self.bad("it has put something else in the place of a media folder")

    def bad(self, why: str) -> ModelDiedError:
        """End a program that cannot be trusted any more; what is raised then."""
        self._leash.kill()
        said = self._said()
        self._close()
        return ModelDiedError(f"the worker was ended: {why}{said}")

    def end(self) -> None:
        """Let the program end, which then takes a few seconds at most."""
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
        until = time.monotonic() + limit.seconds
        while (end := self._read.find(b"\n", self._scanned)) < 0:
            self._scanned = len(self._read)
            if self._scanned > MAX_LINE_BYTES:
                raise self.bad(
                    f"it wrote a line of more than {MAX_LINE_BYTES >> 20} MiB: "
                    f"{self._shown(self._read)}"
                )
            self._wait(until, limit)
        line = bytes(self._read[:end])
        del self._read[: end + 1]
        self._scanned = 0
        return line

    def _wait(
        self,
        until: float,
        limit: TimeSetting,
        *,
        sending: bool = False,
    ) -> bool:
        """Wait for one of the pipes, and read what there is; whether the program's
        input can be written to."""
        poll = select.poll()
        ours, theirs = self._leash.stdin.fileno(), self._leash.stdout.fileno()
        poll.register(theirs, select.POLLIN)
        if sending:
            poll.register(ours, select.POLLOUT)
        left = until - time.monotonic()
        ready = dict(poll.poll(1000 * max(0.0, min(left, _LOOK_SECONDS))))
        if theirs in ready:
            piece = os.read(theirs, 1 << 20)
            if not piece:
                raise self._death()
            self._read += piece
            # only what it writes while it is sent a message adds up to that
            if len(self._read) > 2 * MAX_LINE_BYTES:
                raise self.bad(
                    f"it wrote more than {2 * MAX_LINE_BYTES >> 20} MiB before it "
                    "read what it was sent"
                )
        elif not ready and self._leash.has_ended:
            raise self._death()
        if left <= 0 and sending and ours not in ready:
            raise self.bad(f"it has not read what it was sent for {limit}")
        if left <= 0 and not ready:
            raise self.bad(f"no line came from it for {limit}")
        return ours in ready

    # --- its end ----------------------------------------------------------------------

    def _death(self) -> ModelDiedError:
        """How it ended, in words."""
        cut = ""
        if self._read:
            cut = f" in the middle of a line ({self._shown(self._read)})"
        status = self._leash.end(END_SECONDS)
        words = self._said()
        self._close()
        return ModelDiedError(f"the worker's program {ending(status)}{cut}{words}")

    def _said(self) -> str:
        """The last lines of its error stream."""
        handle = self._errors
        if not isinstance(handle, int):
            handle = handle.fileno()
        return last_lines(handle, self._from)

    def _shown(self, line: bytes | bytearray) -> str:
        # a key may be cut where the text is
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
    """Whether a handle is a file that can be read again."""
    import fcntl

    try:
        is_file = stat.S_ISREG(os.fstat(handle).st_mode)
        return is_file and fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_RDWR != 0
    except OSError:
        return False
