"""Finds a medium whose file has another ending than the row says."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mmeval.dataset.loaders.interleaved import MediaFolder
from mmeval.errors import UsageError
from mmeval.media.media import Media, MediaKind


class FoundMedia(NamedTuple):
    """A medium, and the name of its file where that is another than the row's; else an
    empty text."""

    media: Media
    name: str = ""


class SameStem:
    """Finds the file at a path, else one of the same kind and name with another ending:
    data sets are stored with others than their rows say. It remembers what is in a
    folder."""

    def __init__(self) -> None:
        self._names: dict[Path, dict[str, list[str]]] = {}

    def __call__(
        self, resolve: MediaFolder, path: str, where: str, kind: MediaKind
    ) -> FoundMedia:
        """Raises UsageError for a path that is missing, leads out, or is not a path."""
        try:
            return FoundMedia(resolve(path, where))
        except UsageError:
            folder = resolve.root / resolve.prefix / Path(path).parent
            if folder not in self._names:
                names = self._names[folder] = {}
                if folder.is_dir():
                    for file in sorted(folder.iterdir()):
                        names.setdefault(file.stem, []).append(file.name)
            for name in self._names[folder].get(Path(path).stem, ()):
                found = resolve(str(Path(path).with_name(name)), where)
                if found.kind == kind:
                    return FoundMedia(found, name)
            raise
