"""Finds the media files of UniM, and checks that their kind matches the tag."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from stat import S_ISLNK, S_ISREG

from mmeval.errors import MissingDataError, UsageError
from mmeval.media import UNKNOWN_MIME, Media, may_be, path_inside
from mmeval.tasks.unim.data.pointers import MAX_BYTES, POINTER_FAULT, is_pointer
from mmeval.tasks.unim.labels import FieldDomain, field_words

MATERIALS = "model/mtl"
_LONGEST_PATH = 512
_PATH_WITH_BLANKS = re.compile(
    r"[a-z][a-z0-9+.-]*://.+|[^/\n]*+/.*\.(?:png|jpe?g|wav|mp3|mp4|webm|pdf|docx?|csv|"
    r"txt|obj|mtl|off|ply)",
    re.IGNORECASE,
)
"""A path or web address with spaces. Captions neither begin nor end in such a form."""
_FIRM_SUFFIXES = (".pdf", ".doc", ".docx")
"""Suffixes of documents whose content is never plain text."""


@dataclass(frozen=True)
class RecordFile:
    """A record file, the folder of its data set, and the folder of the records."""

    root: Path
    records: Path
    file: Path

    @cached_property
    def folders(self) -> tuple[str, ...]:
        return self.file.relative_to(self.records).parent.parts

    @property
    def name(self) -> str:
        """The file's name for messages, relative to the folder of the records."""
        return self.file.relative_to(self.records).as_posix()

    def media_folders(self, names: FieldDomain) -> tuple[str, ...]:
        """Returns the folders that may contain a record's media, in search order.

        The folders are relative to the folder of the data set.
        """
        file_folder = self.file.parent.relative_to(self.root).as_posix()
        nested = []
        for field in field_words(names.field):
            for domain in (names.domain, *self.folders[1:2]):
                if field and domain:
                    nested.append(f"{field}/{domain}")
        below = [f"data/{pair}" for pair in nested]
        return tuple(dict.fromkeys((file_folder, *below, ".", *nested)))


def find_medium(
    value: str,
    root: Path,
    folders: Sequence[str],
) -> Media | None:
    """Finds the file that a value names. Returns None for a caption.

    Early records contain captions in place of file names. A value with white space
    between words is a caption, unless it is a file of the data set or looks like a
    path. Raises MissingDataError for a missing file and for a web address, and
    UsageError for a path that leads out of the folder.
    """
    value = value.strip()
    looks_like_path = len(value) <= _LONGEST_PATH and _PATH_WITH_BLANKS.fullmatch(value)
    is_caption = any(map(str.isspace, value)) and not looks_like_path
    try:
        medium = _locate(value, root, folders)
    except UsageError:
        if is_caption:
            return None
        raise
    if medium is not None or is_caption:
        return medium
    if "://" in value:
        raise MissingDataError(
            f"web addresses are not fetched ({value[:200]}); put the file under "
            f"{root / folders[0]}, and write its path instead"
        )
    raise MissingDataError(
        f"no file {value[:200]!r}; fetch the media, or repair the path (tried "
        f"{', '.join(folders)} under {root})"
    )


def kind_fault(medium: Media, kind: str) -> str:
    """Compares a file's kind, judged by its first bytes, with the kind of its tag.

    Returns the fault, or an empty string if the kinds agree. Raises MissingDataError if
    the file cannot be opened.
    """
    mime = medium.mime
    if not medium.size:
        return f"{medium.path} is empty; fetch it again"
    if mime == UNKNOWN_MIME:
        return f"{medium.path} has an unknown type; fetch it again, or repair it"
    if mime == MATERIALS:
        return (
            f"{medium.path} is the material of a mesh, and its OBJ file is missing; "
            "fetch the OBJ file, or repair it"
        )
    is_text = mime.startswith("text/")
    if is_text and medium.size <= MAX_BYTES and is_pointer(medium.read()):
        return f"{medium.path} {POINTER_FAULT}"
    is_kind = may_be(kind, mime)
    expected = kind
    if kind == "document":
        suffix = PurePosixPath(medium.name).suffix.lower()
        expected = f"{kind} ({suffix})"
        # HTML is usually the error page of a failed download.
        if mime == "text/html" or (is_text and suffix in _FIRM_SUFFIXES):
            is_kind = False
    if is_kind:
        return ""
    return (
        f"{medium.path} should be {expected}, but its content is {mime}; fetch it "
        "again, or repair it"
    )


def _locate(
    value: str,
    root: Path,
    folders: Sequence[str],
) -> Media | None:
    """Finds the first file with a name, in the order of the folders.

    Raises UsageError for a file outside ``root``.
    """
    if not value or len(value) > _LONGEST_PATH or not value.isprintable():
        return None
    if value.startswith("/") or ".." in PurePosixPath(value).parts:
        raise UsageError(
            f"{value!r} leads out of its folder; write a path inside that folder"
        )
    for folder in folders:
        relative = f"{folder}/{value}"
        try:
            state = os.lstat(f"{root}/{relative}")
            is_link = S_ISLNK(state.st_mode)
            if is_link:
                state = (root / relative).stat()
        except (OSError, ValueError):
            # The file is missing, or its name is invalid in this file system.
            continue
        if not S_ISREG(state.st_mode):
            continue
        # A link may lead out of the folder, and on some systems a backslash does too.
        if is_link or "\\" in relative:
            path = path_inside(root, relative)
        else:
            parent, _, name = relative.rpartition("/")
            path = _folder_inside(root, parent) / name
        return Media(path=path, size=state.st_size)
    return None


@lru_cache(maxsize=4096)
def _folder_inside(root: Path, folder: str) -> Path:
    """Calls the slow function ``path_inside`` once for all files in a folder."""
    return path_inside(root, folder)
