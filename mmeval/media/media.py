"""Media: bytes that are read on demand and identified by their SHA-256."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Hashable, Iterator, Mapping
from io import BufferedReader, BytesIO
from pathlib import Path, PureWindowsPath
from typing import Any, Literal, get_args

from mmeval.errors import (
    CorruptMediaError,
    MediaLimitError,
    MissingDataError,
    UsageError,
)
from mmeval.media.media_type import sniff_file, suffix_for
from mmeval.system.plain_file import open_plain

MAX_MEDIA_BYTES = 512 * 2**20
"""The maximum size of a file that is read or hashed."""
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]*://|(?:blob|data|file|ftp|https?|javascript):", re.IGNORECASE
)
"""The start of an address, which is not a path. A colon alone is not enough, because
file names may contain colons."""

MediaKind = Literal["image", "audio", "video", "document", "3d"]
MEDIA_KINDS: tuple[MediaKind, ...] = get_args(MediaKind)
"""The kinds of media."""
_PAGES = ("image/png", "image/jpeg")


def kind_for(mime: str) -> MediaKind:
    """Returns the kind of part for a MIME type.

    The kind is ``document`` if no other kind fits.
    """
    family = mime.partition("/")[0]
    if family in ("image", "audio", "video"):
        return family  # type: ignore[return-value]  # narrowed by the condition
    return "3d" if family == "model" else "document"


def may_be(kind: str, mime: str) -> bool:
    """Returns True if a kind of part can have a MIME type.

    A document may be a picture.
    """
    return kind_for(mime) == kind or (kind == "document" and mime in _PAGES)


class Media:
    """One medium, read on demand. Media with equal bytes are equal.

    Create it with :meth:`from_path` (input media, which are not copied),
    :meth:`from_bytes` (generated media) or :meth:`from_json` (a record). ``name`` is a
    label for people. It is never sent to a model, and it is not compared.
    """

    __slots__ = (
        "_memo",
        "_mime",
        "_sha256",
        "_size",
        "_unverified",
        "data",
        "name",
        "path",
    )

    def __init__(
        self,
        *,
        path: Path | None = None,
        data: bytes | None = None,
        sha256: str | None = None,
        mime: str | None = None,
        size: int | None = None,
        name: str = "",
    ) -> None:
        self.path = path
        self.data = data
        self.name = name or (path.name if path else "")
        self._sha256 = sha256
        self._mime = mime
        self._size = size
        self._memo: dict[Hashable, object] | None = None
        # True until the digest in a record has been compared with the file's bytes.
        self._unverified = False

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Returns the state for another process.

        The state does not contain the memo, which may be large.
        """
        state = {name: getattr(self, name) for name in self.__slots__}
        state["_memo"] = None
        return None, state

    @classmethod
    def from_path(cls, path: Path) -> Media:
        """Returns a file on disk as a medium.

        Raises MissingDataError if the file does not exist.
        """
        if not path.is_file():
            raise MissingDataError(f"{path}: the media file is missing")
        return cls(path=path)

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "") -> Media:
        """Returns bytes in memory, such as a generated picture, as a medium."""
        return cls(data=data, name=name)

    @property
    def sha256(self) -> str:
        if self._sha256 is None:
            if self.data is not None:
                self._sha256 = hashlib.sha256(self.data).hexdigest()
            else:
                with self._open_whole() as file:
                    self._sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return self._sha256

    @property
    def mime(self) -> str:
        if self._mime is None:
            if self.data is not None:
                self._mime = sniff_file(BytesIO(self.data), self.name)
            else:
                with self._open() as file:
                    self._mime = sniff_file(file, self.name)
        return self._mime

    @property
    def kind(self) -> MediaKind:
        return kind_for(self.mime)

    @property
    def size(self) -> int:
        """The size in bytes."""
        if self._size is None:
            if self.data is not None:
                self._size = len(self.data)
            else:
                with self._open() as file:
                    self._size = os.fstat(file.fileno()).st_size
        return self._size

    @property
    def label(self) -> str:
        """The name in messages: the path, the name, or the start of the digest."""
        return str(self.path or self.name or f"medium {self.sha256[:12]}")

    @property
    def memo(self) -> dict[Hashable, object]:
        """A cache of results computed from the bytes, for ``mmeval.media.decode``."""
        if self._memo is None:
            self._memo = {}
        return self._memo

    def read(self) -> bytes:
        """Returns all bytes.

        Raises MissingDataError if the file is gone, and MediaLimitError if it is too
        large. Raises CorruptMediaError if the file no longer has the digest of its
        record. The digest is checked when the file is first read.
        """
        if self.data is not None:
            return self.data
        with self._open_whole() as file:
            data = file.read()
        if self._unverified:
            sha256 = hashlib.sha256(data).hexdigest()
            if (sha256, len(data)) != (self._sha256, self._size):
                raise CorruptMediaError(
                    f"{self.path}: the file has changed since it was recorded (sha256 "
                    f"{self._sha256}, {self._size} bytes, now {len(data)} bytes); "
                    "restore the file, or start a new run with --fresh"
                )
            self._unverified = False
        return data

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "sha256": self.sha256,
            "mime": self.mime,
            "size": self.size,
        }
        if self.path is not None:
            row["path"] = str(self.path)
        if self.name:
            row["name"] = self.name
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any], root: Path) -> Media:
        """Returns the medium of a record.

        If the record has no path, the medium is in the store under ``root``.
        """
        sha256, mime = str(row["sha256"]), str(row["mime"])
        stored = stored_path(root, sha256, mime)
        path = Path(row["path"]) if row.get("path") else stored
        media = cls(
            path=path,
            sha256=sha256,
            mime=mime,
            size=int(row["size"]),
            name=str(row.get("name", "")),
        )
        media._unverified = True
        return media

    @contextlib.contextmanager
    def _open(self) -> Iterator[BufferedReader]:
        if self.path is None:
            raise MissingDataError(
                "a medium without bytes and without a file cannot be read"
            )
        try:
            with open_plain(self.path) as file:
                yield file
        except FileNotFoundError:
            raise MissingDataError(
                f"{self.path}: the media file is missing; restore it"
            ) from None
        except OSError as error:
            raise MissingDataError(
                f"{self.path}: the media file cannot be read "
                f"({error.strerror or error})"
            ) from None

    @contextlib.contextmanager
    def _open_whole(self) -> Iterator[BufferedReader]:
        """Opens the file to read all of it.

        If the file is too large, raises MediaLimitError without reading it.
        """
        with self._open() as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_MEDIA_BYTES:
                raise MediaLimitError(
                    f"{self.path}: the media file has {size:,} bytes, but the limit is "
                    f"{MAX_MEDIA_BYTES:,} bytes"
                )
            yield file

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Media) and other.sha256 == self.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        where = str(self.path) if self.path else f"{len(self.data or b'')} bytes"
        return f"Media({where})"


def stored_path(
    root: Path,
    sha256: str,
    mime: str,
) -> Path:
    """Returns the file of a medium in the store under ``root``.

    An example is ``<root>/ab/abcd....png``.

    Raises UsageError for an invalid digest, so that a record cannot name another file.
    """
    if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
        raise UsageError(
            f"{sha256[:80]!r} is not the SHA-256 of a medium; the record is damaged"
        )
    return root / sha256[:2] / f"{sha256}{suffix_for(mime)}"


def path_inside(root: Path, relative: str) -> Path:
    """Returns ``root / relative``.

    Raises UsageError if this path, with links resolved, is outside ``root``.

    A path that would lead out of ``root`` on any operating system is an error. Examples
    are a drive, a share, ``..`` after a backslash, and an address such as ``file:...``.
    Nothing is expanded: ``~`` and ``%2e`` are characters of a name. Links of a hub
    snapshot may point to the blobs of their data set.
    """
    path = root / relative
    try:
        windows_path = PureWindowsPath(relative)
        is_outside = bool(
            windows_path.drive or windows_path.root or _ADDRESS.match(relative)
        )
        is_outside = (
            is_outside or _leads_up(relative) or _leads_up(relative.replace("\\", "/"))
        )
        is_outside = is_outside or not _is_inside(path.resolve(), root.resolve())
        if not is_outside:
            with contextlib.suppress(
                FileNotFoundError, NotADirectoryError, PermissionError
            ):
                path.lstat()
    # The cause is a loop of links, a null character, or a name that is too long.
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            f"{relative[:200]!r} is not inside {root} ({reason})"
        ) from None
    if is_outside:
        raise UsageError(
            f"{relative[:200]!r} leads out of {root}; use a path inside it"
        )
    return path


def _leads_up(relative: str) -> bool:
    return Path(os.path.normpath(relative)).parts[:1] == ("..",)


def _is_inside(target: Path, root: Path) -> bool:
    if target.is_relative_to(root):
        return True
    # huggingface_hub stores <data set>/snapshots/<commit>/... as links to
    # <data set>/blobs
    for folder in (root, *root.parents):
        if folder.parent.name == "snapshots":
            return target.is_relative_to(folder.parent.parent / "blobs")
    return False
