"""A segment contains the journal lines that one process writes, one per answer.

An answer with media is first written as one *receipt* (``journal/inbox/``). Then its
media are stored, its line is written, and the receipt is removed. With this order, a
crash at any point loses nothing.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import StorageError
from mmeval.media.media import Media
from mmeval.records.response import Response
from mmeval.store.media_store import MediaStore
from mmeval.system.json_lines import sealed, to_line

INBOX = "inbox"
"""The folder of receipts, inside the journal's folder."""
KEEP_WAY_OUT = (
    "All earlier answers are kept. Free space or fix the folder, then run the same "
    "command"
)


class JournalLine(NamedTuple):
    """A written answer whose media are files of the store.

    ``line`` is its JSON, ``at`` the time of writing in seconds since the epoch, and
    ``offset`` the byte offset of its line in the segment.
    """

    response: Response
    line: bytes
    at: float
    offset: int


class Segment:
    """The writer of one segment. The first line creates the file."""

    def __init__(self, folder: Path, media: MediaStore) -> None:
        self.media = media
        host, token = socket.gethostname()[:40], secrets.token_hex(3)
        self.path = folder / f"{host}-{os.getpid()}-{token}.jsonl"
        self._folder, self._inbox = folder, folder / INBOX
        self._fd = -1
        self._size = 0

    def keep(
        self, head: Mapping[str, Any], response: Response, *, in_place: bool = False
    ) -> JournalLine:
        """Writes an answer or a failure, its media first.

        With ``in_place``, media that are already files are not copied. Raises
        StorageError if the answer cannot be written.
        """
        unsaved = self._unsaved_media(response, in_place=in_place)
        receipt = self._write_receipt(head, response, unsaved) if unsaved else None
        if receipt is not None:
            response = self._store_media(response)
        line = to_line(portable(response, self.media.root))
        at, offset = self.write_line(head, line, failed=response.error is not None)
        if receipt is not None:
            receipt.unlink(missing_ok=True)
        return JournalLine(response, line, at, offset)

    def write_line(
        self, head: Mapping[str, Any], line: bytes, *, failed: bool
    ) -> tuple[float, int]:
        """Writes a line and returns its time and offset.

        If it raises StorageError, it leaves no partial line.
        """
        at = round(time.time(), 6)
        if self._fd < 0:
            self._open()
        whole = sealed(
            b'%s,"t":%r,%s:%s}'
            % (to_line(head)[:-1], at, b'"failed"' if failed else b'"r"', line)
        )
        written = 0
        try:
            while written < len(whole):
                written += os.write(self._fd, whole[written:])
        except OSError as error:
            # a partial line would corrupt the next line
            os.ftruncate(self._fd, self._size)
            raise StorageError(
                f"{self._folder}: an answer cannot be written ({error.strerror}). "
                f"{KEEP_WAY_OUT}"
            ) from None
        offset = self._size
        self._size += len(whole)
        return at, offset

    def sync(self) -> None:
        """Flushes the segment and its media to disk. Raises StorageError."""
        self.media.sync()  # before the lines: a durable line needs durable media
        if self._fd >= 0:
            try:
                os.fsync(self._fd)
            except OSError as error:
                raise StorageError(
                    f"{self.path} cannot be written ({error.strerror}). {KEEP_WAY_OUT}"
                ) from None

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(
                self.path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644
            )
        except OSError as error:
            raise StorageError(
                f"{self.path} cannot be written ({error.strerror}); choose another "
                "--output_path"
            ) from None

    def _store_media(self, response: Response) -> Response:
        return response.with_media(self.media.put)

    def _unsaved_media(self, response: Response, *, in_place: bool) -> list[Media]:
        return [
            medium
            for medium in response.media()
            if medium.path is None
            or not (in_place or medium.path.is_relative_to(self.media.root))
        ]

    def _write_receipt(
        self, head: Mapping[str, Any], response: Response, media: Sequence[Media]
    ) -> Path:
        row = {
            **head,
            "r": portable(response, self.media.root),
            "media": [medium.to_json() for medium in media],
        }
        path = receipt_path(self._folder, head["k"])
        temporary = path.with_suffix(f".{secrets.token_hex(4)}.part")
        try:
            self._inbox.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(sealed(to_line(row)))
                for medium in media:
                    file.write(medium.read())
            temporary.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise StorageError(
                f"{path}: an answer's media cannot be stored ({error.strerror}). "
                f"{KEEP_WAY_OUT}"
            ) from None
        return path


def receipt_path(folder: Path, key: str) -> Path:
    """Returns the file of a call's receipt in the folder of a journal."""
    return folder / INBOX / f"{key_hash(key).hex()}.receipt"


def key_hash(key: str) -> bytes:
    """Returns the 16-byte digest of a key, which the index uses."""
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def portable(response: Response, store: Path) -> dict[str, Any]:
    """Returns a response as JSON that identifies stored media by content, not by path.

    This allows the run folder to be moved.
    """
    row = response.to_json()
    drop_stored_paths(row.get("output", ()), store)
    if "turn" in row:
        drop_stored_paths([row["turn"]], store)
    return row


def drop_stored_paths(parts: Iterable[Mapping[str, Any]], store: Path) -> None:
    """Removes the paths of stored media from the JSON of parts. Other paths remain."""
    for part in parts:
        if "media" not in part:
            continue
        path = part["media"].get("path", "")
        if path.startswith(f"{store}{os.sep}"):
            del part["media"]["path"]
