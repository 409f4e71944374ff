"""Opens files that users or data name.

Only regular files are opened, because reading a pipe or a device may never end.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


def open_plain(path: Path | str, *, folder: int | None = None) -> BufferedReader:
    """Opens a file for reading bytes.

    ``folder`` is the handle of an open folder. If it is given, ``path`` is a name in
    that folder, and no link is followed. Raises OSError if the file cannot be opened or
    is not a regular file.
    """
    # O_NONBLOCK: opening a pipe would wait for its writer
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    if folder is not None:
        flags |= os.O_NOFOLLOW
    handle = os.open(path, flags, dir_fd=folder)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return open(handle, "rb")  # noqa: PTH123  a handle has no path
    os.close(handle)
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))
