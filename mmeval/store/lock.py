"""File locks: kernel locks, or leases on file systems without them.

A kernel lock (``flock``) ends with its process. Some file systems of clusters do not
support locks and report an error. There, a *lease* of the library filelock is written
next to the file. The lease names a host and a process, and that process touches the
lease every few seconds. Another process takes a lease over if it was not touched for a
minute, or if its process ran on this host and has ended. Otherwise the lock is refused
as soon as the holder is known to be alive: it runs on this host, or it touches its
lease.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import secrets
import socket
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # most file systems have locks
    from filelock import SoftFileLease

log = logging.getLogger(__name__)

BEAT_SECONDS = 10.0
LEASE_SECONDS = 60.0
_POLL_SECONDS = 0.05
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class LockHeldError(Exception):
    """Another process holds the lock; the message names it."""


class Lock:
    """A lock that this process holds until it calls ``close`` or ends.

    Only one process can hold an exclusive lock; several can hold a ``shared`` lock.
    Raises LockHeldError if another process holds the lock, OSError if the file cannot
    be written or locked. Without kernel locks, it waits to see whether a holder on
    another host touches its lease. This takes about 10 seconds if the holder is alive,
    and 60 seconds if it is not.
    """

    def __init__(self, file: Path, *, shared: bool = False) -> None:
        self._file = file
        self._lease: SoftFileLease | None = None
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if not _flock(self._descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
                self._lease = _taken_lease(file, shared=shared)
            if not shared:
                self._write_holder()
        except BaseException:
            self.close()
            raise

    def _write_holder(self) -> None:
        holder = (
            f"pid {os.getpid()} on {socket.gethostname()} since "
            f"{time.strftime('%F %T')}\n"
        )
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, holder.encode(), 0)

    @property
    def is_held(self) -> bool:
        """True while the lock is held.

        A lock is lost if its file is removed or another process takes over its lease.
        """
        try:
            is_in_place = os.path.samestat(
                os.fstat(self._descriptor), self._file.stat()
            )
        except OSError:
            return False
        return is_in_place and (self._lease is None or _is_lease_held(self._lease))

    def close(self) -> None:
        if self._lease is not None:
            self._lease.release()
        os.close(self._descriptor)


def becomes_free(file: Path, patience: float) -> bool:
    """Returns True if all locks on a file end within ``patience`` seconds.

    Shared locks are included. Raises OSError if the function cannot determine the
    locks.
    """
    until = time.monotonic() + patience
    descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    try:
        while True:
            try:
                has_locks = _flock(descriptor, fcntl.LOCK_EX)
                break
            except LockHeldError:
                if time.monotonic() >= until:
                    return False
                time.sleep(_POLL_SECONDS)
    finally:
        os.close(descriptor)
    return has_locks or _leases_end(file, until)


def _flock(descriptor: int, kind: int) -> bool:
    """Takes the kernel lock; returns False if the file system does not support locks.

    Raises LockHeldError.
    """
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LockHeldError(
            os.pread(descriptor, 200, 0).decode(errors="replace").strip()
        ) from None
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return False
        raise
    return True


def _taken_lease(file: Path, *, shared: bool) -> SoftFileLease:
    """Takes the lease of a file, or with ``shared`` one of several.

    Raises LockHeldError.
    """
    name = f"{file.name}.{secrets.token_hex(6)}" if shared else file.name
    lease = _lease(file.with_name(f"{name}.lease"))
    if _is_acquired(lease):
        return lease
    host = _this_host()
    if _is_at_work(lease, host):
        raise LockHeldError(_holder(lease))
    log.warning(
        "%s: waiting up to %.0f seconds to see whether %s is alive",
        lease.lock_file,
        LEASE_SECONDS,
        _holder(lease),
    )
    # the lease of a dead holder is taken over within this time
    until = time.monotonic() + LEASE_SECONDS + BEAT_SECONDS
    before = _state(lease)
    while time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
        if _is_acquired(lease):
            return lease
        state = _state(lease)
        if _is_touched(before, state) or _is_at_work(lease, host):
            raise LockHeldError(_holder(lease))
        before = state
    # Some file systems, such as NFS, cannot exchange two names at once. The lease of a
    # dead holder cannot be taken over there.
    advice = f"if it has ended, remove {lease.lock_file}"
    raise LockHeldError(f"{_holder(lease)}, inactive for a minute; {advice}")


def _leases_end(file: Path, until: float) -> bool:
    """Returns True if all leases of a file end before ``until``.

    All leases are watched together, since leases of several dead processes end at about
    the same time.
    """
    paths = file.parent.glob(f"{file.name}*.lease")
    leases = [_lease(path) for path in paths]
    while True:
        leases = [lease for lease in leases if not _has_ended(lease)]
        if not leases:
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(_POLL_SECONDS)


def _has_ended(lease: SoftFileLease) -> bool:
    """Returns True if a lease has no holder, and removes its file then."""
    if not _is_acquired(lease):
        return False
    lease.release()
    return True


def _is_acquired(lease: SoftFileLease) -> bool:
    """Tries once to take a lease, and returns True if that succeeds.

    The lease object keeps its state between attempts.
    """
    from filelock import Timeout

    try:
        lease.acquire(blocking=False)
    except Timeout:
        return False
    return True


def _lease(path: Path) -> SoftFileLease:
    from filelock import SoftFileLease

    return SoftFileLease(
        path,
        lease_duration=LEASE_SECONDS,
        heartbeat_interval=BEAT_SECONDS,
        thread_local=False,
    )


def _is_lease_held(lease: SoftFileLease) -> bool:
    """Returns True if this process still holds a lease.

    An unreadable lease is considered held until the library gives it up.
    """
    if lease.compromise is not None:
        return False
    if not _is_lost(lease):
        return True
    # a process that tries to take the lease over may move the file away for a moment
    time.sleep(_POLL_SECONDS)
    return not _is_lost(lease)


def _is_lost(lease: SoftFileLease) -> bool:
    """Returns True if a held lease's file is missing or belongs to another process."""
    owner = lease.owner
    if owner is not None:
        return owner.token != lease.token
    try:
        os.lstat(lease.lock_file)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _is_at_work(lease: SoftFileLease, host: str) -> bool:
    """Returns True if a running process of this host holds a lease."""
    owner = lease.owner
    if owner is None or owner.hostname != host:
        return False
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's process
        return True
    return True


def _state(lease: SoftFileLease) -> os.stat_result | None:
    try:
        return os.lstat(lease.lock_file)
    except OSError:
        return None


def _is_touched(before: os.stat_result | None, state: os.stat_result | None) -> bool:
    """Returns True if the holder touched its lease between two states.

    The result is False if another file now has the same name. Such a file exists for a
    moment while a third process tries to take the lease over.
    """
    if before is None or state is None:
        return False
    is_same_file = os.path.samestat(before, state)
    return is_same_file and before.st_mtime_ns != state.st_mtime_ns


def _this_host() -> str:
    """Returns the name of this host as leases contain it.

    The name includes the namespace of process ids, since containers with the same name
    do not see each other's processes.
    """
    from filelock import MarkerSoftFileLock

    # a lock in a new folder is taken only to read how filelock names this host
    with (
        tempfile.TemporaryDirectory() as folder,
        MarkerSoftFileLock(Path(folder) / "own") as lock,
    ):
        owner = lock.owner
    return "" if owner is None else owner.hostname


def _holder(lease: SoftFileLease) -> str:
    owner = lease.owner
    if owner is None:
        return "another process"
    host = owner.hostname.partition("?")[0]  # filelock adds the process id namespace
    return f"pid {owner.pid} on {host}"
