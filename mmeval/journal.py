"""The journal: every answer that was paid for, written before its program goes on.

One append-only JSONL segment for each writer, merged on reading. A line is one call: its key, the request's digest, who
was asked, the response. An answer with media goes first, whole, into one *receipt* (``journal/inbox/``); then its media
go to the content-addressed store, then its line is written, then the receipt is removed. A process that is killed
anywhere in between has lost nothing: the next one finishes what the receipt began. A torn last line is ignored, and a
damaged one is skipped aloud: the call that it answered is asked again.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import secrets
import socket
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from mmeval.content import Interleaved
from mmeval.errors import CorruptMediaError, StorageError
from mmeval.lines import from_line, to_line
from mmeval.media import Media
from mmeval.mediastore import MediaStore
from mmeval.records import Response
from mmeval.spending import NOT_SENT, Payee, Spending

_OFFSET_BITS = 44
MAX_READERS = 16
"""Segments that are open for reading at once."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One answered call: the digest of what was asked, the response, and the response's JSON as it was written.

    ``at`` is when it was answered, in seconds since the epoch; ``earlier``: an earlier process was given this answer.
    """

    request_digest: str
    response: Response
    line: bytes
    at: float
    earlier: bool = False


class Journal:
    """The answers of one run folder, and in ``spending`` what its calls have used.

    ``damaged`` lists what could not be read, as ``file:line`` with the reason.
    """

    def __init__(self, folder: Path, media: MediaStore, *, writable: bool = True) -> None:
        self.media = media
        self.damaged: list[str] = []
        self.spending = Spending()
        self._oldest = math.inf
        self._folder, self._inbox = folder, folder / "inbox"
        self._index: dict[bytes, int] = {}
        self._refused: Counter[bytes] = Counter()
        self._segments: list[Path] = []
        self._readers: dict[int, BinaryIO] = {}
        self._fd = -1
        self._size = 0
        try:
            for path in sorted(folder.glob("*.jsonl")):
                self._read_segment(path)
            self._first_own = len(self._segments)
            if writable:
                self._finish_receipts()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        """How many calls have an answer."""
        return len(self._index)

    @property
    def since(self) -> str:
        """When the oldest answer came, in local time; empty when there is none."""
        if math.isinf(self._oldest):
            return ""
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self._oldest))

    def __contains__(self, key: str) -> bool:
        return _hash(key) in self._index

    def get(self, key: str) -> Entry | None:
        """The answer to a call, or None when there is none yet."""
        place = self._index.get(_hash(key))
        if place is None:
            return None
        row = self._row_at(place)
        response = Response.from_json(row["r"], self.media.root)
        earlier = place >> _OFFSET_BITS < self._first_own
        return Entry(row["d"], response, to_line(row["r"]), at=row.get("t", 0.0), earlier=earlier)

    def refusals(self, key: str) -> int:
        """How many replies to a call were not acceptable, over all processes."""
        return self._refused[_hash(key)] if self._refused else 0

    def append(
        self,
        key: str,
        request_digest: str,
        response: Response,
        *,
        by: str = "",
        attempt: int = 0,
        to: Payee | None = None,
        in_place: bool = False,
        refused: bool = False,
    ) -> Entry:
        """Keep an answer, or the record of a failure (which never answers a later call); ``refused`` is a failure for
        which a reply came that was not acceptable.

        ``to`` is who was asked, after ``attempt`` tries that failed; None where no call was sent for the answer.
        Returns the response with its media backed by files of the store; with ``in_place`` media that are files already
        (a data set's own) stay where they are. Raises StorageError when it cannot be written.
        """
        unsaved = self._unsaved_media(response, in_place=in_place)
        head: dict[str, Any] = {"k": key, "d": request_digest, "to": NOT_SENT if to is None else tuple(to)}
        if by:
            head["by"] = by
        if attempt:
            head["a"] = attempt
        if refused:
            head["refused"] = True
            self._refused[_hash(key)] += 1
        receipt = self._write_receipt(head, response, unsaved) if unsaved else None
        if receipt is not None:
            response = self._store_media(response)
        line = to_line(_portable(response, self.media.root))
        at = self._write_line(head, line, failed=response.error is not None)
        if to is not None:
            self.spending.add(to, response, 1 + attempt)
        if receipt is not None:
            receipt.unlink(missing_ok=True)
        return Entry(request_digest, response, line, at)

    def sync(self) -> None:
        """Push what was written to the disk itself; called on a timer, because doing it for every line is slow."""
        self.media.sync()  # first, so that no durable line names a medium that is not
        if self._fd >= 0:
            os.fsync(self._fd)

    def close(self) -> None:
        for file in self._readers.values():
            file.close()
        self._readers.clear()
        self._index.clear()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    # --- writing ---------------------------------------------------------------------------------------------------

    def _open_segment(self) -> None:
        """Made with the first line, so that a process that asks nothing leaves nothing."""
        name = f"{socket.gethostname()[:40]}-{os.getpid()}-{secrets.token_hex(3)}.jsonl"
        path = self._folder / name
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._segments.append(path)
        except OSError as error:
            raise StorageError(f"{path}: cannot be written ({error.strerror}); choose another --output_path") from None

    def _write_line(self, head: Mapping[str, Any], line: bytes, *, failed: bool) -> float:
        """Returns the time that the line bears."""
        at = round(time.time(), 6)
        if self._fd < 0:
            self._open_segment()
        whole = b'%s,"t":%r,%s:%s}\n' % (to_line(head)[:-1], at, b'"failed"' if failed else b'"r"', line)
        written = 0
        try:
            while written < len(whole):
                written += os.write(self._fd, whole[written:])
        except OSError as error:
            os.ftruncate(self._fd, self._size)
            raise StorageError(
                f"{self._folder}: cannot write an answer ({error.strerror}). Everything before it is kept: "
                "free space or fix the folder, then run the same command"
            ) from None
        if not failed:
            self._index[_hash(head["k"])] = (len(self._segments) - 1) << _OFFSET_BITS | self._size
        self._size += len(whole)
        return at

    def _store_media(self, response: Response) -> Response:
        parts = (response.output or Interleaved()).parts
        stored = tuple(p if p.media is None else replace(p, media=self.media.put(p.media)) for p in parts)
        return replace(response, output=Interleaved(stored))

    def _unsaved_media(self, response: Response, *, in_place: bool) -> list[Media]:
        media = response.output.media() if response.output is not None else ()
        return [m for m in media if m.path is None or not (in_place or m.path.is_relative_to(self.media.root))]

    def _write_receipt(self, head: Mapping[str, Any], response: Response, media: Sequence[Media]) -> Path:
        row = {**head, "r": _portable(response, self.media.root), "media": [m.to_json() for m in media]}
        path = self._inbox / f"{_hash(head['k']).hex()}.receipt"
        temporary = path.with_suffix(f".{secrets.token_hex(4)}.part")
        try:
            self._inbox.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(to_line(row) + b"\n")
                for medium in media:
                    file.write(medium.read())
            temporary.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise StorageError(
                f"{path}: cannot keep an answer's media ({error.strerror}). Everything before it is kept: "
                "free space or fix the folder, then run the same command"
            ) from None
        return path

    def _finish_receipts(self) -> None:
        for path in sorted(self._inbox.glob("*.receipt")):
            try:
                self._finish_receipt(path)
            except (ValueError, KeyError, TypeError, CorruptMediaError) as error:
                aside = path.rename(path.with_suffix(".damaged"))
                self.damaged.append(f"{aside}: {error}")
            else:
                path.unlink()
        for path in self._inbox.glob("*.part"):
            path.unlink()

    def _finish_receipt(self, path: Path) -> None:
        with path.open("rb") as file:
            head = from_line(file.readline())
            for row in head["media"]:
                self.media.put(_received(file.read(row["size"]), row))
        del head["media"]
        place = self._index.get(_hash(head["k"]))
        if place is None or self._row_at(place)["d"] != head["d"]:  # else its line is there
            line = to_line(head["r"])
            self.spending.add_line(head)
            del head["r"]
            self._write_line(head, line, failed=False)

    # --- reading ---------------------------------------------------------------------------------------------------

    def _read_segment(self, path: Path) -> None:
        number = len(self._segments)
        self._segments.append(path)
        with path.open("rb") as file:
            for line_number, offset, line in _lines(file):
                try:
                    row = from_line(line)
                    key = _hash(row["k"])
                    answered = "r" in row and bool(row["d"])
                    if "refused" in row:
                        self._refused[key] += 1
                    self.spending.add_line(row)
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    self.damaged.append(f"{path}:{line_number}: {error}")
                    continue
                if answered and self._newer(row, self._index.get(key)):
                    self._index[key] = number << _OFFSET_BITS | offset
                    self._oldest = min(self._oldest, row.get("t", math.inf))

    def _newer(self, row: Mapping[str, Any], place: int | None) -> bool:
        """Whether a line replaces the one that its key has; segments are not read in the order of their time."""
        return place is None or bool(row.get("t", 0.0) >= self._row_at(place).get("t", 0.0))

    def _reader(self, number: int) -> BinaryIO:
        """A segment for reading; a folder that was resumed a thousand times has more of them than may be open."""
        file = self._readers.pop(number, None)
        if file is None:
            file = self._segments[number].open("rb")
            if len(self._readers) >= MAX_READERS:
                self._readers.pop(next(iter(self._readers))).close()
        self._readers[number] = file  # the last one used stands last
        return file

    def _row_at(self, place: int) -> Mapping[str, Any]:
        file = self._reader(place >> _OFFSET_BITS)
        file.seek(place & ((1 << _OFFSET_BITS) - 1))
        row: Mapping[str, Any] = from_line(file.readline())
        return row


def _lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Line number, offset and content of every complete line; what follows the last line break is a torn tail."""
    offset = 0
    for number, line in enumerate(file, start=1):
        if not line.endswith(b"\n"):
            return
        yield number, offset, line
        offset += len(line)


def _hash(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _received(data: bytes, row: Mapping[str, Any]) -> Media:
    """A receipt's medium under the type that its line names. Raises CorruptMediaError when the receipt is damaged."""
    media = Media(data=data, sha256=hashlib.sha256(data).hexdigest(), mime=row["mime"], name=row.get("name", ""))
    if media.sha256 != row["sha256"]:
        raise CorruptMediaError("a medium in it is damaged")
    return media


def _portable(response: Response, store: Path) -> dict[str, Any]:
    """A response whose stored media are named by content alone, so that a run folder can be moved."""
    row = response.to_json()
    if "output" in row:
        forget_store(row["output"], store)
    return row


def forget_store(parts: Iterable[Mapping[str, Any]], store: Path) -> None:
    """Take the paths of stored media out of the JSON of parts; media that lie elsewhere keep theirs."""
    for part in parts:
        if "media" in part and part["media"].get("path", "").startswith(f"{store}{os.sep}"):
            del part["media"]["path"]
