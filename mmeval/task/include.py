"""Resolves the includes of task files, which must be in allowed folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.system.yaml_document import Document, KeyPath, read_document

MAX_DEPTH = 50
"""Maximum depth of files that include each other."""


class _Target(NamedTuple):
    """An included file. Several links may lead to its folder, so ``place`` has the real
    folder, and the name in it. ``resolved`` is the file without any links."""

    file: Path
    place: Path
    resolved: Path


class TaskFiles:
    """Reads task files with their includes. Each file is read once.

    An include must be below one of the ``roots``: the packages of tasks and the folders
    of ``--include_path``. A file outside of them may include files of its own folder.
    """

    def __init__(self, roots: Sequence[Path] = ()) -> None:
        self._roots = tuple(root.resolve() for root in roots)
        self._read: dict[Path, Document] = {}
        self._whole: dict[Path, Document] = {}
        """Files with their includes resolved, by their place."""
        self._targets: dict[tuple[Path, str], _Target] = {}
        """Included files by the including folder and the written name. A hundred files
        of a folder usually include the same file, and resolving links is slow."""

    def document(self, file: Path) -> Document:
        """Reads a file with its includes.

        Later includes override earlier ones, and the file overrides all. Raises
        TaskFileError for an unreadable file, and for an include that is missing,
        circular, or outside of the allowed folders.
        """
        return self._resolved(self.own(file), (file.resolve(),))

    def completed(self, document: Document) -> Document:
        """Resolves the includes of a part of a file, such as a member of a group."""
        return self._resolved(document, ())

    def own(self, file: Path) -> Document:
        """Reads a file without resolving its includes."""
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
            if target.resolved in trail:
                chain = " -> ".join(file.name for file in (*trail, target.file))
                raise document.error(path, f"the include is circular: {chain}")
            if target.place not in self._whole:
                if len(trail) > MAX_DEPTH:
                    raise document.error(
                        path,
                        f"the includes are more than {MAX_DEPTH} levels deep; include "
                        "fewer files",
                    )
                longer = (*trail, target.resolved)
                included_document = self.own(target.file)
                self._whole[target.place] = self._resolved(included_document, longer)
            below = self._whole[target.place]
            base = below if base is None else below.over(base)
        rest = document.without("include")
        return rest if base is None else rest.over(base)

    def _target(self, document: Document, path: KeyPath, name: str) -> _Target:
        folder = document.place(path).file.parent
        target = self._targets.get((folder, name))
        if target is None:
            file = self._included(document, path, name)
            place = file.parent.resolve() / file.name
            target = _Target(file, place, file.resolve())
            self._targets[folder, name] = target
        return target

    def _included(self, document: Document, path: KeyPath, name: str) -> Path:
        source = document.place(path).file
        target = source.parent / name
        try:
            resolved = target.resolve()
            home = source.parent.resolve()
        # the path may contain a loop of links or a NUL character
        except (OSError, RuntimeError, ValueError) as error:
            message = f"{name[:80]!r} is not a path ({error})"
            raise document.error(path, message) from None
        folders = self._roots
        if not any(home.is_relative_to(root) for root in folders):
            folders = (*folders, home)
        if not any(resolved.is_relative_to(folder) for folder in folders):
            message = (
                f"{name!r} is outside of the package; an include must be inside it, or "
                "below a folder of --include_path"
            )
            raise document.error(path, message)
        if not target.is_file():
            raise document.error(
                path, f"there is no file {name!r} in the folder of {source.name}"
            )
        # messages show the path without ``..`` only if it leads to the same file: with
        # a link to a folder in the path, it may lead to a different one
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
            ("include",), "must be a file name or a list of file names"
        )
    for path, name in names.items():
        if not isinstance(name, str) or not name:
            raise document.error(path, "must be a file name")
    return list(names.items())
