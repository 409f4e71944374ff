"""Resolve the includes of task files, which may lead to certain folders only."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mmeval.system.yaml_document import Document, KeyPath, read_document

MAX_DEPTH = 50
"""Files that include each other in a row."""


class TaskFiles:
    """Reader of task files with their includes; each file is read once.

    An include may lead to files below the ``roots``: the packages of tasks and the
    folders of ``--include_path``. A file outside all of them may include files of its
    own folder.
    """

    def __init__(self, roots: Sequence[Path] = ()) -> None:
        self._roots = tuple(root.resolve() for root in roots)
        self._read: dict[Path, Document] = {}
        self._whole: dict[Path, Document] = {}
        """Files with what they include; each is resolved once, in however many others
        it is."""

    def document(self, file: Path) -> Document:
        """Read a file with its includes: later ones override, and the file overrides
        all. Raises TaskFileError for a file that cannot be read, and an include that is
        missing, outside, or circular."""
        return self._resolved(self.own(file), (file.resolve(),))

    def completed(self, document: Document) -> Document:
        """Resolve the includes of a part of a file (a member of a group)."""
        return self._resolved(document, ())

    def own(self, file: Path) -> Document:
        """Read the file alone, without its includes."""
        if file not in self._read:
            self._read[file] = read_document(file, collect=True)
        return self._read[file]

    def _resolved(self, document: Document, trail: tuple[Path, ...]) -> Document:
        included = document.data.get("include")
        if included is None:
            return document
        base: Document | None = None
        for path, name in _listed(document, included):
            target = self._target(document, path, name)
            if target.resolve() in trail:
                chain = " -> ".join(file.name for file in (*trail, target))
                raise document.error(path, f"the include leads back to itself: {chain}")
            # links of folders lead to the same files
            known = target.parent.resolve() / target.name
            if known not in self._whole:
                if len(trail) > MAX_DEPTH:
                    raise document.error(
                        path,
                        f"the includes are more than {MAX_DEPTH} deep; include fewer "
                        "files",
                    )
                longer = (*trail, target.resolve())
                self._whole[known] = self._resolved(self.own(target), longer)
            below = self._whole[known]
            base = below if base is None else below.over(base)
        own = document.without("include")
        return own if base is None else own.over(base)

    def _target(
        self,
        document: Document,
        path: KeyPath,
        name: str,
    ) -> Path:
        source = document.place(path).file
        target = source.parent / name
        try:
            resolved = target.resolve()
            home = source.parent.resolve()
        # a loop of links, a NUL character
        except (OSError, RuntimeError, ValueError) as error:
            message = f"{name[:80]!r} is not a path ({error})"
            raise document.error(path, message) from None
        folders = self._roots
        if not any(home.is_relative_to(root) for root in folders):
            folders = (*folders, home)
        if not any(resolved.is_relative_to(folder) for folder in folders):
            message = (
                f"{name!r} leads out of the package; includes stay inside it, or "
                "below a folder of --include_path"
            )
            raise document.error(path, message)
        if not target.is_file():
            raise document.error(
                path, f"there is no file {name!r} beside {source.name}"
            )
        # without ``..``, for messages, where that is the same file: beyond a link it
        # may be another
        plain = Path(os.path.normpath(target))
        if plain != target and plain.is_file() and plain.samefile(target):
            return plain
        return target


def _listed(document: Document, included: Any) -> list[tuple[KeyPath, str]]:
    names: dict[KeyPath, Any] = {}
    if isinstance(included, str):
        names[("include",)] = included
    elif isinstance(included, list):
        for position, item in enumerate(included):
            names[("include", position)] = item
    else:
        raise document.error(
            ("include",), "must be the name of a file, or a list of names"
        )
    for path, name in names.items():
        if not isinstance(name, str) or not name:
            raise document.error(path, "must be the name of a file")
    return list(names.items())
