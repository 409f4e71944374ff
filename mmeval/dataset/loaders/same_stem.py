"""Finds a medium even if its file has another extension than the path in the row."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mmeval.dataset.loaders.interleaved import MediaFolder
from mmeval.errors import UsageError
from mmeval.media.media import Media, MediaKind


class FoundMedia(NamedTuple):
    """A medium, and the name of its file if it differs from the name in the row."""

    media: Media
    name: str = ""


class SameStem:
    """Finds the file at a path, or a file of the same kind with another extension.

    In published data sets, the extension of a file often differs from the extension in
    the row's path. The contents of folders are cached.
    """

    def __init__(self) -> None:
        self._names: dict[Path, dict[str, list[str]]] = {}

    def __call__(
        self, resolve: MediaFolder, path: str, where: str, kind: MediaKind
    ) -> FoundMedia:
        """Returns the medium and the name of its file.

        Raises UsageError for a path that is missing, invalid or outside the data.
        """
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
