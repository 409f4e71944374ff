"""The journal stores every answer of a run before its program continues.

Each writer appends to its own JSONL segment (see ``segment.py``), and a reader merges
all segments. A line describes one call: key, digest of the request, endpoint and
response. A killed process loses no answer, because the next process stores any answer
of which only a receipt was written. A torn last line is ignored. A damaged line is
reported and its call is sent again. The journal of a shard also reads the journals of
its run and of the other shards. Calls in these other journals do not count as spending
of the shard.

Worker processes write their own segments, and this process *adopts* their lines. Such a
line is *raw*: its answer is not checked yet, and its reasoning is not separated. The
checked answer is written as another line.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
import re
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from mmeval.errors import CorruptMediaError, StorageError
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.render import terminal_lines
from mmeval.media.media import Media, stored_path
from mmeval.records.response import Response
from mmeval.store.call_context import CallContext, line_head
from mmeval.store.media_store import MediaStore
from mmeval.store.segment import INBOX, JournalLine, Segment, key_hash, receipt_path
from mmeval.store.spending import ModelEndpoint, Spending
from mmeval.system.folders import link_or_copy
from mmeval.system.json_lines import DamagedLine, check_seal, to_line, unsealed

log = logging.getLogger(__name__)

# the low bits of an index entry contain the byte offset of the entry's line
_OFFSET_BITS = 44
MAX_READERS = 16
"""Maximum number of segments that are open for reading at once."""
DAMAGED = ".damaged"
"""The suffix of a damaged receipt."""
_ANSWER_HEAD = re.compile(
    rb'\{"k":"([^"\\]*)","d":"[^"\\]*","to":\[[^\[\]]*\]'
    rb'(?:,"by":"[^"\\]*")?,"t":([\d.]+),"r":'
)
"""Matches the start of the line of a checked answer, in the form that a segment writes.
Lines of failures, of retried calls and of unchecked answers do not match."""


class JournalEntry(NamedTuple):
    """An answered call: digest of the request, response, and the response's JSON line.

    ``at`` is the time of the answer in seconds since the epoch. ``earlier`` is True if
    an earlier process received the answer. ``raw`` is True if the line is an unchecked
    line of a worker.
    """

    request_digest: str
    response: Response
    line: bytes
    at: float
    earlier: bool = False
    raw: bool = False


class Journal:
    """The answers of one run folder.

    ``spending`` is the usage of its calls. ``damaged`` lists the lines that cannot be
    read. ``others`` are other run folders whose answers are reused. Their media are
    copied into this run's store when they are used. With ``counts_spending=False``,
    the usage is left out, and answers are not decoded until they are requested.
    """

    def __init__(
        self,
        folder: Path,
        media: MediaStore,
        *,
        writable: bool = True,
        others: Sequence[Path] = (),
        counts_spending: bool = True,
    ) -> None:
        self.media = media
        self.damaged: list[DamagedLine] = []
        self.spending = Spending()
        self._oldest = math.inf
        self.folder, self._writable = folder, writable
        self._own_segment = Segment(folder, media)
        self._index: dict[bytes, int] = {}
        self._refused: Counter[bytes] = Counter()
        self._failed: Counter[bytes] = Counter()
        self._segments: list[Path] = []
        self._is_own: list[bool] = []
        """Whether a segment is in this journal's folder, by its number."""
        self._numbers: dict[Path, int] = {}
        self._adopted: dict[bytes, JournalEntry] = {}
        """Entries that workers wrote and that were not passed to ``append`` yet."""
        self._read_to: dict[Path, int] = {}
        """The offset of the last line that was read or adopted, by segment."""
        self._readers: dict[int, BinaryIO] = {}
        with contextlib.ExitStack() as unread:
            unread.callback(self.close)
            own_names = {path.name for path in folder.glob("*.jsonl")}
            folders = [*(run / "journal" for run in others), folder]
            for path in _fullest_segments(folders):
                spent = counts_spending and path.name in own_names
                self._read_segment(path, spent=spent)
            for path in sorted((folder / INBOX).glob(f"*{DAMAGED}")):
                self._add_damaged_receipt(path)
            self._first_own = len(self._segments)
            if writable:
                self._finish_receipts()
            unread.pop_all()

    def __len__(self) -> int:
        """Returns the number of calls with an answer."""
        return len(self._index)

    @property
    def of_others(self) -> int:
        """Number of answers that come from other folders."""
        is_own = self._is_own
        if all(is_own):
            return 0
        return sum(not is_own[place >> _OFFSET_BITS] for place in self._index.values())

    @property
    def since(self) -> str:
        """Local time of the oldest answer of an earlier process, or an empty string."""
        if math.isinf(self._oldest):
            return ""
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self._oldest))

    def __contains__(self, key: str) -> bool:
        return key_hash(key) in self._index

    def get(self, key: str) -> JournalEntry | None:
        """Returns the answer to a call, or None."""
        row = self.row(key)
        if row is None:
            return None
        number = self._index[key_hash(key)] >> _OFFSET_BITS
        response = Response.from_json(row["r"], self._media_of(number, row["r"]))
        earlier = number < self._first_own
        line, is_raw = to_line(row["r"]), row.get("w") is not None
        return JournalEntry(row["d"], response, line, row["t"], earlier, is_raw)

    def row(self, key: str) -> Mapping[str, Any] | None:
        """Returns the JSON object of the line that answers a call, or None."""
        place = self._index.get(key_hash(key))
        if place is None:
            return None
        row = self._row_at(place)
        draw = row.get("w")
        if draw is not None and draw < self.refusals(key):
            return None  # a later check refused the raw answer
        return row

    def refusals(self, key: str) -> int:
        """Returns the number of refused replies to a call, over all processes."""
        return self._refused[key_hash(key)] if self._refused else 0

    def failures(self, key: str) -> int:
        """Returns the number of failed attempts of a call, over all processes.

        A later attempt may have succeeded.
        """
        return self._failed[key_hash(key)] if self._failed else 0

    def append(
        self,
        key: str,
        request_digest: str,
        response: Response,
        *,
        by: str = "",
        attempt: int = 0,
        to: ModelEndpoint | None = None,
        in_place: bool = False,
        refused: bool = False,
    ) -> JournalEntry:
        """Writes an answer or a failure.

        A failure is never reused for a later call. ``to`` is the endpoint that was
        called, after ``attempt`` failed attempts; None if no call was sent. ``refused``
        marks a failure whose reply was not acceptable. Returns the response with its
        media backed by files of the store. With ``in_place``, media that are already
        files are not copied. Raises StorageError if the line cannot be written. An
        answer that a worker wrote is not written again. If the checked response
        differs, its line states that no call was sent, because the worker's line
        already counts the call.
        """
        hashed = key_hash(key)
        adopted = self._adopted.pop(hashed, None)
        if adopted is not None:
            if adopted.response is response and not refused:
                return adopted
            to, attempt = None, 0
        head = line_head(key, request_digest, by=by, to=to, attempt=attempt)
        if refused:
            head["refused"] = True
            self._refused[hashed] += 1
        elif response.error is not None:
            self._failed[hashed] += 1 + attempt
        written = self._own_segment.keep(head, response, in_place=in_place)
        if response.error is None:
            self._index[hashed] = self._place(self._own_segment.path, written.offset)
        if to is not None:
            self.spending.add(to, written.response, 1 + attempt)
        return JournalEntry(request_digest, written.response, written.line, written.at)

    def adopt(
        self,
        context: CallContext,
        request_digest: str,
        segment: Path,
        written: JournalLine,
    ) -> None:
        """Indexes an answer that a worker wrote into its own segment."""
        self._read_to[segment] = written.offset
        entry = JournalEntry(
            request_digest, written.response, written.line, written.at, raw=True
        )
        hashed = key_hash(context.key)
        self._index[hashed] = self._place(segment, written.offset)
        self._adopted[hashed] = entry
        if context.to is not None:
            self.spending.add(context.to, written.response, 1 + context.attempt)

    def recover(self, segment: Path, calls: Mapping[str, str]) -> dict[str, Response]:
        """Recovers the answers that a dead worker wrote but did not report.

        ``calls`` maps the keys of its open calls to the digests of their requests.
        Returns the answers by key.
        """
        damaged_before = len(self.damaged)
        if segment.exists():
            self._read_segment(
                segment, after=self._read_to.get(segment, -1), earlier=False
            )
        responses = {}
        for key, request_digest in calls.items():
            receipt = receipt_path(self.folder, key)
            if receipt.exists():
                self._try_receipt(receipt)
            entry = self.get(key)
            if (
                entry is not None
                and entry.raw
                and entry.request_digest == request_digest
            ):
                self._adopted[key_hash(key)] = entry
                responses[key] = entry.response
        lines = terminal_lines(map(self._finding, self.damaged[damaged_before:]))
        if lines:
            log.warning("%s", "\n".join(["lines of the journal are damaged:", *lines]))
        return responses

    def findings(
        self, again: str, asked_again: Collection[str] = ()
    ) -> Iterator[Finding]:
        """Yields a finding for each line that cannot be read.

        ``again`` is the command that repeats the calls of these lines. ``asked_again``
        contains the digests of lines whose calls were already repeated; they have no
        finding.
        """
        resolved = frozenset(asked_again)
        for line in self.damaged:
            if line.digest not in resolved:
                yield self._finding(line, again)

    def _finding(self, line: DamagedLine, again: str = "") -> Finding:
        file = line.file
        if file.is_relative_to(self.folder):
            file = file.relative_to(self.folder.parent)
        subject = Subject(file=str(file), line=line.line)
        return Finding("damaged", subject, cause=line.reason, remedy=again)

    def sync(self) -> None:
        """Flushes the segment to disk.

        A timer calls this, since a flush per line would be slow.
        """
        self._own_segment.sync()

    def close(self) -> None:
        for file in self._readers.values():
            file.close()
        self._readers.clear()
        self._index.clear()
        self._adopted.clear()
        self._own_segment.close()

    # --- receipts, and lines of others ------------------------------------------------

    def _finish_receipts(self) -> None:
        for path in sorted((self.folder / INBOX).glob("*.receipt")):
            self._try_receipt(path)
        for path in (self.folder / INBOX).glob("*.part"):
            path.unlink()

    def _try_receipt(self, path: Path) -> None:
        try:
            self._finish_receipt(path)
        except (ValueError, CorruptMediaError) as error:
            log.debug("%s: the receipt is damaged (%s)", path, error)
            self._add_damaged_receipt(path.rename(path.with_suffix(DAMAGED)))
        else:
            path.unlink()

    def _add_damaged_receipt(self, path: Path) -> None:
        is_known = any(line.file == path for line in self.damaged)
        if not is_known:  # the call may have an earlier damaged receipt
            digest = _digest(path.name.encode())
            self.damaged.append(DamagedLine(path, "the receipt is damaged", digest))

    def _finish_receipt(self, path: Path) -> None:
        with path.open("rb") as file:
            head = unsealed(file.readline())
            for row in head["media"]:
                self.media.put(_received(file.read(row["size"]), row))
        del head["media"]
        # the process may have been killed after the line was written
        if self._has_line(head):
            return
        line = to_line(head["r"])
        self.spending.add_line(head)
        del head["r"]
        _, offset = self._own_segment.write_line(head, line, failed=False)
        self._index[key_hash(head["k"])] = self._place(self._own_segment.path, offset)

    def _has_line(self, head: Mapping[str, Any]) -> bool:
        place = self._index.get(key_hash(head["k"]))
        if place is None:
            return False
        row = self._row_at(place)
        return bool(row["d"] == head["d"] and row.get("w") == head.get("w"))

    def _place(self, segment: Path, offset: int) -> int:
        """Encodes the position of a line, segment number and offset, as one integer."""
        number = self._numbers.get(segment)
        if number is None:
            number = self._numbers[segment] = len(self._segments)
            self._segments.append(segment)
            self._is_own.append(segment.parent == self.folder)
        return number << _OFFSET_BITS | offset

    # --- reading ----------------------------------------------------------------------

    def _read_segment(
        self, path: Path, *, after: int = -1, earlier: bool = True, spent: bool = True
    ) -> None:
        """Indexes the lines of a segment that begin after a byte offset.

        ``earlier`` is True if an earlier process wrote them, ``spent`` if they count as
        spending of this folder.
        """
        name = path.name.encode()
        # spending is counted from the whole line
        read = unsealed if spent else _index_fields
        with path.open("rb") as file:
            for line_number, offset, line in _lines(file):
                if offset <= after:
                    continue
                self._read_to[path] = offset
                try:
                    row = read(line)
                except ValueError as error:
                    # a broken disk may make many lines equal, so the digest covers
                    # their position
                    digest = _digest(b"%s:%d:%s" % (name, line_number, line))
                    self.damaged.append(
                        DamagedLine(path, str(error), digest, line_number)
                    )
                    continue
                key, at = key_hash(row["k"]), row["t"]
                if "refused" in row:
                    self._refused[key] += 1
                elif "failed" in row:
                    self._failed[key] += 1 + row.get("a", 0)
                if spent:
                    self.spending.add_line(row)
                # segments are not read in order of time
                indexed = self._index.get(key)
                if "r" in row and (indexed is None or at >= self._row_at(indexed)["t"]):
                    self._index[key] = self._place(path, offset)
                    self._oldest = min(self._oldest, at) if earlier else self._oldest

    def _media_of(self, number: int, response: Mapping[str, Any]) -> Path:
        """Returns the media folder of a response in the segment with this number.

        Media of another run folder are copied into this one first.
        """
        if self._is_own[number]:
            return self.media.root
        other_root = self._segments[number].parent.parent / self.media.root.name
        if not self._writable:
            return other_root
        for part in response.get("output", ()):
            medium = part.get("media")
            if medium is not None and "path" not in medium:
                source = stored_path(other_root, medium["sha256"], medium["mime"])
                if source.exists():
                    link_or_copy(
                        source,
                        stored_path(self.media.root, medium["sha256"], medium["mime"]),
                    )
        return self.media.root

    def _reader(self, number: int) -> BinaryIO:
        """Opens a segment. At the limit, the least recently used segment is closed."""
        file = self._readers.pop(number, None)
        if file is None:
            file = self._segments[number].open("rb")
            if len(self._readers) >= MAX_READERS:
                self._readers.pop(next(iter(self._readers))).close()
        self._readers[number] = file  # last: the most recently used one
        return file

    def _row_at(self, place: int) -> Mapping[str, Any]:
        file = self._reader(place >> _OFFSET_BITS)
        file.seek(place & ((1 << _OFFSET_BITS) - 1))
        try:
            return unsealed(file.readline())
        except ValueError as error:
            raise StorageError(
                f"{file.name}: a line was changed while the run was reading it "
                f"({error}). Run the same command again"
            ) from None


def _fullest_segments(folders: Sequence[Path]) -> Collection[Path]:
    """Returns the largest segment of each name; among equally large ones, the last.

    A merged segment exists in the run and in its shard, and a copy may be incomplete.
    """
    fullest: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.jsonl")):
            largest = fullest.get(path.name)
            if largest is None or path.stat().st_size >= largest.stat().st_size:
                fullest[path.name] = path
    return fullest.values()


def _lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Yields the number, the offset and the content of each complete line.

    A torn last line is skipped.
    """
    offset = 0
    for number, line in enumerate(file, start=1):
        if not line.endswith(b"\n"):
            return
        yield number, offset, line
        offset += len(line)


def _index_fields(line: bytes) -> Mapping[str, Any]:
    """Returns the fields of a sealed line that the index needs. The response of an
    answer is empty, because decoding it takes most of the time of reading. Raises
    ValueError if the line is damaged."""
    check_seal(line)
    match = _ANSWER_HEAD.match(line)
    if match is None:
        return unsealed(line)
    return {"k": match[1].decode(), "t": float(match[2]), "r": {}}


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _received(data: bytes, row: Mapping[str, Any]) -> Media:
    """Returns a medium of a receipt.

    Raises CorruptMediaError if its checksum differs.
    """
    media = Media(
        data=data,
        sha256=hashlib.sha256(data).hexdigest(),
        mime=row["mime"],
        name=row.get("name", ""),
    )
    if media.sha256 != row["sha256"]:
        raise CorruptMediaError("the checksum of one of its media differs")
    return media
