"""Locks of files: the kernel's, or leases where a file system has none.

The kernel's lock (``flock``) goes with its process. Some file systems of clusters have
no locks, and say so. There a *lease* of the library filelock lies beside the file: it
names a host and a process, which touches it every few seconds. A lease that is not
touched for a minute is taken over, and so is one of a process of this host that is
gone.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import secrets
import socket
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


class HeldError(Exception):
    """Another process has the lock; the text is who."""


class Lock:
    """A lock that this process holds until ``close`` or its end.

    An exclusive one is held alone, ``shared`` ones by several. Raises HeldError while
    it cannot be had, and OSError where the file cannot be written or locked. Where
    there are no locks, it waits until a lease has shown that its holder is at work.
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
    def lasts(self) -> bool:
        """Whether it is still held: the file may be removed or moved, a lease taken
        over."""
        try:
            is_in_place = os.path.samestat(
                os.fstat(self._descriptor), self._file.stat()
            )
        except OSError:
            return False
        return is_in_place and (self._lease is None or _lasts(self._lease))

    def close(self) -> None:
        if self._lease is not None:
            self._lease.release()
        os.close(self._descriptor)


def becomes_free(file: Path, patience: float) -> bool:
    """Whether nobody holds a lock on a file, shared or not, any longer within
    ``patience`` seconds. Raises OSError where that cannot be known."""
    until = time.monotonic() + patience
    descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    try:
        while True:
            try:
                has_locks = _flock(descriptor, fcntl.LOCK_EX)
                break
            except HeldError:
                if time.monotonic() >= until:
                    return False
                time.sleep(_POLL_SECONDS)
    finally:
        os.close(descriptor)
    return has_locks or _leases_end(file, until)


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


def _taken_lease(file: Path, *, shared: bool) -> SoftFileLease:
    """The lease of a file, or with ``shared`` one of several. Raises HeldError."""
    from filelock import Timeout

    name = f"{file.name}.{secrets.token_hex(6)}" if shared else file.name
    lease = _lease(file.with_name(f"{name}.lease"))
    try:
        lease.acquire(blocking=False)
    except Timeout:
        log.warning(
            "%s: waiting for a sign of %s, %.0f seconds at most",
            lease.lock_file,
            _holder(lease),
            LEASE_SECONDS,
        )
    else:
        return lease
    try:
        # a lease without a sign for so long is taken over
        lease.acquire(timeout=LEASE_SECONDS + BEAT_SECONDS)
    except Timeout:
        raise HeldError(_holder(lease)) from None
    return lease


def _leases_end(file: Path, until: float) -> bool:
    """Whether each lease of a file has ended before a moment."""
    from filelock import Timeout

    for path in file.parent.glob(f"{file.name}*.lease"):
        lease = _lease(path)
        try:
            lease.acquire(timeout=max(0.0, until - time.monotonic()))
        except Timeout:
            return False
        lease.release()
    return True


def _lease(path: Path) -> SoftFileLease:
    from filelock import SoftFileLease

    return SoftFileLease(
        path,
        lease_duration=LEASE_SECONDS,
        heartbeat_interval=BEAT_SECONDS,
        thread_local=False,
    )


def _lasts(lease: SoftFileLease) -> bool:
    """Whether a lease is still this process's. One that cannot be read at the moment
    is, until the library gives it up."""
    owner = lease.owner
    is_taken_over = owner is not None and owner.token != lease.token
    return lease.compromise is None and not is_taken_over


def _holder(lease: SoftFileLease) -> str:
    owner = lease.owner
    if owner is None:
        return "another process"
    host = owner.hostname.partition("?")[0]  # filelock adds the space of process ids
    return f"pid {owner.pid} on {host}"
