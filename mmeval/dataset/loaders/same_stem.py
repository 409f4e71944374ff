"""Finds a medium whose file has another ending than the row says."""

from __future__ import annotations

from collections.abc import Sequence
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
            for name in self._like(resolve, path):
                if (
                    found := resolve(str(Path(path).with_name(name)), where)
                ).kind == kind:
                    return FoundMedia(found, name)
            raise

    def _like(self, resolve: MediaFolder, path: str) -> Sequence[str]:
        """The files of the same name without its ending, sorted."""
        folder = resolve.root / resolve.prefix / Path(path).parent
        if folder not in self._names:
            names = self._names[folder] = {}
            for file in sorted(folder.iterdir()) if folder.is_dir() else ():
                names.setdefault(file.stem, []).append(file.name)
        return self._names[folder].get(Path(path).stem, ())
