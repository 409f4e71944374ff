"""Caches scans of task files, in one cache file for each folder of tasks.

A scan is valid while the task file and its includes keep their size, change time and
inode.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

from mmeval._version import __version__
from mmeval.errors import StorageError
from mmeval.system.folders import own_cache, write_atomic
from mmeval.task.scan import FileScan

log = logging.getLogger(__name__)

FORMAT = 2
FEW = 4
"""The smallest number of files in a folder whose scans are cached.

Scanning fewer files takes only a few milliseconds.
"""
_FIELDS = 6
"""Number of fields of a cached scan."""
_Stamp = list[int] | None


class ScanCache:
    """The cached scans of a folder. A missing or damaged cache is treated as empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.path.realpath(folder)
        self._stamps: dict[str, _Stamp] = {}
        self._rows: dict[str, Any] = {}  # JSON
        self._is_new = False
        self._file: Path | None = None
        self._cached_stamps: dict[str, _Stamp] = {}
        self._cached_rows: dict[str, Any] = {}
        place = f"{folder}\n{folder.absolute()}".encode("utf-8", "surrogateescape")
        digest = hashlib.sha256(place).hexdigest()
        try:
            self._file = own_cache() / "tasks" / f"{digest[:32]}.json"
            form, version, stamps, rows = json.loads(self._file.read_bytes())
        # StorageError: the user has no home folder
        except (StorageError, OSError, ValueError, TypeError):
            return
        if (form, version) != (FORMAT, __version__):
            return
        if not isinstance(stamps, dict) or not isinstance(rows, dict):
            return
        for row in rows.values():
            if not isinstance(row, list) or len(row) != _FIELDS:
                return
        self._cached_stamps = stamps
        self._cached_rows = rows

    def scan(self, file: Path) -> FileScan | None:
        """Returns the cached scan of a file, or None if it is not valid."""
        name = str(file)
        # recorded before the file is read, so the next scan detects a change meanwhile
        self._stamp(name)
        row = self._cached_rows.get(name)
        if row is None:
            return None
        for path in (name, *row[-1]):
            if self._stamp(path) != self._cached_stamps.get(path, ()):
                return None
        self._rows[name] = row
        task, group, tags, version, licence, sources = row
        return FileScan(
            file, task, group, tuple(tags), version, licence, tuple(sources)
        )

    def add(self, scan: FileScan) -> None:
        """Caches a scan without faults, if all included files are in this folder."""
        if scan.problem or scan.fault:
            return
        for path in scan.sources:
            if not os.path.realpath(path).startswith(f"{self._folder}{os.sep}"):
                return
        self._is_new = True
        for path in scan.sources:
            self._stamp(path)
        self._rows[str(scan.file)] = [
            scan.task,
            scan.group,
            scan.tags,
            scan.version,
            scan.license,
            scan.sources,
        ]

    def save(self) -> None:
        """Writes the cache if it changed.

        If the cache cannot be written, the files are scanned again next time.
        """
        rows = self._rows
        is_changed = self._is_new or rows.keys() != self._cached_rows.keys()
        if self._file is None or len(rows) < FEW or not is_changed:
            return
        stamps: dict[str, _Stamp] = {}
        for name, row in rows.items():
            for file in (name, *row[-1]):
                stamps[file] = self._stamp(file)
        document = json.dumps([FORMAT, __version__, stamps, rows])
        try:
            write_atomic(self._file, document.encode())
        except StorageError as error:
            log.debug("the task files are read again next time: %s", error)

    def _stamp(self, name: str) -> _Stamp:
        if name not in self._stamps:
            try:
                status = os.stat(name)  # noqa: PTH116  a path for each file takes longer than this
            except OSError:
                self._stamps[name] = None
            else:
                self._stamps[name] = [status.st_size, status.st_ctime_ns, status.st_ino]
        return self._stamps[name]
