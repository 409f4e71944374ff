"""Finds a medium whose file has another extension than the row says."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mmeval.dataset.loaders.interleaved import MediaFolder
from mmeval.errors import UsageError
from mmeval.media.media import Media, MediaKind


class FoundMedia(NamedTuple):
    """A medium, and the name of its file if that is not the name in the row."""

    media: Media
    name: str = ""


class SameStem:
    """Finds the file at a path, else a file of the same kind with another extension.

    Published data sets often have other extensions than their rows say. The contents of
    folders are cached.
    """

    def __init__(self) -> None:
        self._names: dict[Path, dict[str, list[str]]] = {}

    def __call__(
        self, resolve: MediaFolder, path: str, where: str, kind: MediaKind
    ) -> FoundMedia:
        """Raises UsageError for a path that is missing, invalid or outside the data."""
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
                medium = resolve(str(Path(path).with_name(name)), where)
                if medium.kind == kind:
                    return FoundMedia(medium, name)
            raise
