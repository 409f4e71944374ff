"""Locks of files: the kernel's, or leases where a file system has none.

The kernel's lock (``flock``) goes with its process. Some file systems of clusters have
no locks, and say so. There a *lease* lies beside the file: it names a host and a
process, which touches it every few seconds. One that was not touched for a minute is
stale, and so is one of a process of this host that is gone: both are taken over, with a
warning. Ages are differences of the file system's own times, as the clocks of two hosts
differ.

A lease is removed by renaming it first: of two processes that want to remove the same
one, only one can. What was renamed is compared with what was inspected. Where another
process has taken the lease over between the two, its lease is put back.
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
from typing import Any, BinaryIO, NamedTuple

from mmeval.system.signals import is_alive

log = logging.getLogger(__name__)

BEAT_SECONDS = 10.0
STALE_SECONDS = 60.0
ASIDE = "aside"
"""Ends the name of a lease that is renamed and about to be removed or put back."""
_ASIDE_SECONDS = 5.0
"""How long a lease may be aside before its holder regards it as lost."""
_PAUSE = 0.005
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
        leases = [
            *file.parent.glob(f"{file.name}*.lease"),
            # one that is aside is put back where its holder is at work
            *file.parent.glob(f"{file.name}*.lease.*.{ASIDE}"),
        ]
        return all(_is_free_lease(path, descriptor) for path in leases)
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


def _is_free_lease(path: Path, clock: int) -> bool:
    """Whether a lease has no living holder; that of a process of this host which is
    gone is removed."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as lease:
        holder = _Holder.of(lease, clock)
        if not holder.is_stale:
            return False
        if holder.is_gone and holder.age > STALE_SECONDS:
            _remove(path, lease.fileno(), touched=holder.touched)
    return True


class _Holder(NamedTuple):
    """What a lease says: its process, its host, and how long ago it was touched.
    ``touched`` is the time of that in nanoseconds."""

    process: int
    host: str
    age: float
    touched: int

    @classmethod
    def of(cls, lease: BinaryIO, clock: int) -> _Holder:
        """The holder of a lease. ``lease`` was just opened, so that a network file
        system asks its server; ``clock`` is a file that this process may touch."""
        os.utime(clock)
        status = os.fstat(lease.fileno())
        age = os.fstat(clock).st_mtime - status.st_mtime
        try:
            record: Any = json.loads(lease.read() or b"{}")
        except ValueError:
            record = {}
        return cls(
            process=record.get("process", 0),
            host=record.get("host", "unknown"),
            age=age,
            touched=status.st_mtime_ns,
        )

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
        record = {"process": os.getpid(), "host": socket.gethostname()}
        try:
            os.write(self._descriptor, json.dumps(record).encode())
        except OSError:
            self.end()
            raise
        threading.Thread(target=self._beat, name="mmeval-lease", daemon=True).start()

    def _taken(self, clock: int) -> int:
        """The descriptor of a new lease. Raises HeldError while another process has
        one."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        while True:
            try:
                descriptor = os.open(self._path, flags, 0o644)
                break
            except FileExistsError:
                self._remove_stale(clock)
        holder = self._holder_aside(descriptor, clock)
        if holder is not None:
            # it is at work, and a third process is about to put its lease back
            _remove(self._path, descriptor)
            os.close(descriptor)
            raise HeldError(str(holder))
        return descriptor

    def _remove_stale(self, clock: int) -> None:
        """Remove the lease that is there. Raises HeldError for one that is not
        stale."""
        with contextlib.suppress(FileNotFoundError), self._path.open("rb") as lease:
            holder = _Holder.of(lease, clock)
            if not holder.is_stale:
                raise HeldError(str(holder))
            log.warning("%s: taking over the lease of %s", self._path, holder)
            _remove(self._path, lease.fileno(), touched=holder.touched)

    def _holder_aside(self, own: int, clock: int) -> _Holder | None:
        """A process at work whose lease is aside for the moment. Stale leases, which a
        killed process has left aside, are removed."""
        for path in self._path.parent.glob(f"{self._path.name}.*.{ASIDE}"):
            with contextlib.suppress(FileNotFoundError), path.open("rb") as lease:
                if os.path.sameopenfile(own, lease.fileno()):
                    continue
                holder = _Holder.of(lease, clock)
                if not holder.is_stale:
                    return holder
                path.unlink()
        return None

    @property
    def lasts(self) -> bool:
        """Whether the lease is still this process's. One that is aside is put back in
        milliseconds, which is waited for."""
        until = time.monotonic() + _ASIDE_SECONDS
        while not self._is_in_place():
            is_removed = os.fstat(self._descriptor).st_nlink == 0
            if is_removed or time.monotonic() > until:
                return False
            time.sleep(_PAUSE)
        return True

    def _is_in_place(self) -> bool:
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
                _remove(self._path, self._descriptor)
        os.close(self._descriptor)


def _remove(path: Path, lease: int, *, touched: int | None = None) -> None:
    """Remove a lease that was opened as ``lease``; another one that has taken its place
    since is put back, and so is one that was touched after ``touched``. Nothing is done
    where another process was faster.

    The file stays open until its inode is compared: the file system would give the
    number of a removed one to the next file.
    """
    aside = path.with_name(f"{path.name}.{secrets.token_hex(6)}.{ASIDE}")
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
        seen = os.fstat(lease)
        renamed = aside.stat()
        is_same = os.path.samestat(seen, renamed)
        if is_same and touched in (None, renamed.st_mtime_ns):
            aside.unlink()
        else:
            _put_back(aside, path)


def _put_back(aside: Path, path: Path) -> None:
    """Give a lease its name again. A process that has made one meanwhile sees the other
    aside and removes its own."""
    until = time.monotonic() + _ASIDE_SECONDS
    while time.monotonic() < until:
        try:
            path.hardlink_to(aside)
        except FileExistsError:
            time.sleep(_PAUSE)
        except FileNotFoundError:
            return  # its holder has ended
        except OSError:
            aside.rename(path)  # a file system without links
            return
        else:
            break
    # where it could not be put back, its holder sees that it is gone and stops
    aside.unlink(missing_ok=True)
