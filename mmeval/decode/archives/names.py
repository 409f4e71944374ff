"""Checks which names in an archive may become files, and whether two clash."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath

from mmeval.errors import MediaLimitError

MAX_NAME_CHARS = 1000
MAX_STEP_BYTES = 255
"""The longest name of one folder or file on the file systems in use."""
MAX_DEPTH = 32
FREE_FOLDERS = 1000
"""Folders that an archive may have besides three for each of its entries."""

_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")


def entry_path(name: str) -> PurePosixPath:
    """An entry's name as a relative path without ``./`` or last ``/``; top: ``.``.

    The same names are refused on every system, whatever its own rules. Raises ValueError with the reason: absolute,
    on a drive or a share, through ``..``, of a device, with control characters or a backslash, too long or too deep.
    """
    steps = [step for step in name.split("/") if step not in ("", ".")]
    for reason, found in (
        ("has a name with control characters, or with bytes that are no text", _CONTROL.search(name)),
        ("has a backslash in its name", "\\" in name),
        ("has an absolute name", name.startswith("/") or re.match("[A-Za-z]:", name)),
        ("leads out of the folder", ".." in steps),
        (f"lies more than {MAX_DEPTH} folders deep", len(steps) > MAX_DEPTH),
        ("has a name that is too long", any(len(step.encode("utf-8", "replace")) > MAX_STEP_BYTES for step in steps)),
        ("has a name that is too long", len(name) > MAX_NAME_CHARS),
        ("has the name of a device", any(_DEVICE.fullmatch(step) for step in steps)),
    ):
        if found:
            raise ValueError(f"the entry {name[:80]!r} {reason}")
    return PurePosixPath(*steps)


class ArchiveNames:
    """The names of one archive so far: files and the folders that they lie in."""

    def __init__(self) -> None:
        self._spelt: dict[str, tuple[str, bool]] = {}
        self._files: set[str] = set()
        self._entries = 0

    def add(self, path: PurePosixPath, *, is_folder: bool) -> None:
        """Add the name of an entry.

        Raises ValueError where a file system could confuse two names (they differ only in case, in the form of accents,
        or in dots and spaces at the end), or where a file would also have to be a folder; MediaLimitError where entries
        make many folders each, which take a disk longer than files.
        """
        self._entries += 1
        if not path.parts:
            return
        for above in path.parents:
            if above.parts:
                self._add(above, is_folder=True)
        self._add(path, is_folder=is_folder)
        if len(self._spelt) > FREE_FOLDERS + 4 * self._entries:
            raise MediaLimitError(f"{self._entries} entries make more than {FREE_FOLDERS} folders, and three for each")

    def _add(self, path: PurePosixPath, *, is_folder: bool) -> None:
        steps = (unicodedata.normalize("NFKC", step).casefold() for step in path.parts)
        key = "/".join(unicodedata.normalize("NFC", step).rstrip(". ") for step in steps)
        known = self._spelt.setdefault(key, (str(path), is_folder))
        if known != (str(path), is_folder) or (not is_folder and key in self._files):
            raise ValueError(f"the entries {known[0][:80]!r} and {str(path)[:80]!r} would be one file")
        if not is_folder:
            self._files.add(key)
