"""Locks of files: the kernel's, or leases where a file system has none.

The kernel's lock (``flock``) goes with its process. Some file systems of clusters have
no locks, and say so. There a *lease* lies beside the file: it names a host and a
process, which touches it every few seconds. One that was not touched for a minute is
stale, and so is one of a process of this host that is gone: both are taken over, with a
warning. Ages are differences of the file system's own times, as the clocks of two hosts
differ.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import secrets
import socket
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.system.signals import is_alive

log = logging.getLogger(__name__)

BEAT_SECONDS = 10.0
STALE_SECONDS = 60.0
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class HeldError(Exception):
    """Another process has the lock; the text is who."""


class Lock:
    """A lock that this process holds until ``close`` or its end.

    An exclusive one is held alone, ``shared`` ones by several. Raises HeldError while
    it cannot be had, and OSError where the file cannot be written or locked.
    """

    def __init__(self, file: Path, *, shared: bool = False) -> None:
        self._file = file
        self._lease: _Lease | None = None
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        with contextlib.ExitStack() as failed:
            failed.callback(os.close, self._descriptor)
            if not _flock(self._descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
                name = (
                    f"{file.name}.{secrets.token_hex(6)}.lease"
                    if shared
                    else f"{file.name}.lease"
                )
                self._lease = _Lease(file.with_name(name), self._descriptor)
                failed.callback(self._lease.end)
            if not shared:
                os.ftruncate(self._descriptor, 0)
                said = (
                    f"pid {os.getpid()} on {socket.gethostname()} since "
                    f"{time.strftime('%F %T')}\n"
                )
                os.pwrite(self._descriptor, said.encode(), 0)
            failed.pop_all()

    @property
    def lasts(self) -> bool:
        """Whether it is still held: the file may be removed or moved, a lease taken
        over."""
        with contextlib.suppress(OSError):
            here = os.path.samestat(os.fstat(self._descriptor), self._file.stat())
            return here and (self._lease is None or self._lease.lasts)
        return False

    def close(self) -> None:
        if self._lease is not None:
            self._lease.end()
        os.close(self._descriptor)


def is_free(file: Path) -> bool:
    """Whether nobody holds a lock on a file, shared or not; leases of processes of this
    host that are gone are removed. Raises OSError where that cannot be known."""
    descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    try:
        if _flock(descriptor, fcntl.LOCK_EX):
            return True
        for path in file.parent.glob(f"{file.name}*.lease"):
            holder = _Holder.of(path, descriptor)
            if holder is not None and not holder.is_stale:
                return False
            if holder is not None and holder.is_gone and holder.age > STALE_SECONDS:
                path.unlink(missing_ok=True)
        return True
    except HeldError:
        return False
    finally:
        os.close(descriptor)


def _flock(descriptor: int, kind: int) -> bool:
    """Whether the kernel's lock was had; False where the file system has none. Raises
    HeldError."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise HeldError(
            os.pread(descriptor, 200, 0).decode(errors="replace").strip()
        ) from None
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return False
        raise
    return True


class _Holder(NamedTuple):
    """What a lease says: its process, its host, and how long ago it was touched."""

    process: int
    host: str
    age: float

    @classmethod
    def of(cls, path: Path, clock: int) -> _Holder | None:
        """The holder of a lease, None without one; ``clock`` is a file that this
        process may touch."""
        os.utime(clock)
        try:
            with path.open(
                "rb"
            ) as file:  # opened, so that a network file system asks its server
                age = os.fstat(clock).st_mtime - os.fstat(file.fileno()).st_mtime
                said: Any = json.loads(file.read() or b"{}")
        except FileNotFoundError:
            return None
        except ValueError:
            said = {}
        return cls(said.get("process", 0), said.get("host", "unknown"), age)

    @property
    def is_gone(self) -> bool:
        return self.host == socket.gethostname() and not is_alive(self.process)

    @property
    def is_stale(self) -> bool:
        return self.is_gone or self.age > STALE_SECONDS

    def __str__(self) -> str:
        return (
            f"pid {self.process} on {self.host}, which gave its last sign "
            f"{self.age:.0f} seconds ago"
        )


class _Lease:
    """A lease that this process holds, with the thread that touches it."""

    def __init__(self, path: Path, clock: int) -> None:
        self._path = path
        self._ended = threading.Event()
        self._descriptor = self._taken(clock)
        said = {"process": os.getpid(), "host": socket.gethostname()}
        try:
            os.write(self._descriptor, json.dumps(said).encode())
        except OSError:
            self.end()
            raise
        threading.Thread(target=self._beat, name="mmeval-lease", daemon=True).start()

    def _taken(self, clock: int) -> int:
        while True:
            with contextlib.suppress(FileExistsError):
                return os.open(
                    self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644
                )
            holder = _Holder.of(self._path, clock)
            if holder is None:
                continue
            if not holder.is_stale:
                raise HeldError(str(holder))
            log.warning("%s: taking over the lease of %s", self._path, holder)
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                self._path.unlink()

    @property
    def lasts(self) -> bool:
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        return False

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            with contextlib.suppress(OSError):  # a disk that is away for a moment
                os.utime(self._descriptor)

    def end(self) -> None:
        self._ended.set()
        if self.lasts:
            with contextlib.suppress(OSError):
                self._path.unlink()
        os.close(self._descriptor)
