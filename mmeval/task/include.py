"""Includes: a task file together with the files that it builds on, and where an include may lead."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mmeval.system.yaml_document import Document, KeyPath, read_document


class TaskFiles:
    """Reads task files with what they include, each file once.

    ``roots`` are the folders that an include may lead into: the packages of tasks and the folders of
    ``--include_path``. A file outside all of them may include what lies in its own folder.
    """

    def __init__(self, roots: Sequence[Path] = ()) -> None:
        self._roots = tuple(root.resolve() for root in roots)
        self._read: dict[Path, Document] = {}

    def document(self, file: Path) -> Document:
        """A file with its includes resolved: later keys override, and the file's own override all.

        Raises TaskFileError for a file that cannot be read, an include that is missing, leads outside, or leads back.
        """
        return self._resolved(self.own(file), (file.resolve(),))

    def completed(self, document: Document) -> Document:
        """A document made from a part of a file (a member of a group), with its includes resolved."""
        return self._resolved(document, ())

    def own(self, file: Path) -> Document:
        """What stands in the file itself."""
        if file not in self._read:
            self._read[file] = read_document(file)
        return self._read[file]

    def _resolved(self, document: Document, trail: tuple[Path, ...]) -> Document:
        included = document.data.get("include")
        if included is None:
            return document
        base: Document | None = None
        for path, name in _listed(document, "include", included):
            target = self._target(document, path, name)
            if target.resolve() in trail:
                chain = " -> ".join(file.name for file in (*trail, target))
                raise document.error(path, f"the include leads back to itself: {chain}")
            below = self._resolved(self.own(target), (*trail, target.resolve()))
            base = below if base is None else below.over(base)
        own = document.without("include")
        return own if base is None else own.over(base)

    def _target(self, document: Document, path: KeyPath, name: str) -> Path:
        source = document.place(path).file
        target = source.parent / name
        try:
            resolved, home = target.resolve(), source.parent.resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL character
            raise document.error(path, f"{name[:80]!r} is no path ({error})") from None
        roots = [root for root in self._roots if resolved.is_relative_to(root)]
        if not roots and not (self._outside(home) and resolved.is_relative_to(home)):
            message = f"{name!r} leads out of the package; includes stay inside it, or below a folder of --include_path"
            raise document.error(path, message)
        if not target.is_file():
            raise document.error(path, f"there is no file {name!r} beside {source.name}")
        return _without_detours(target)

    def _outside(self, folder: Path) -> bool:
        return not any(folder.is_relative_to(root) for root in self._roots)


def _without_detours(file: Path) -> Path:
    """The path without ``..``, as messages show it, where that is the same file (behind a link it may be another)."""
    plain = Path(os.path.normpath(file))
    return plain if plain != file and plain.is_file() and plain.samefile(file) else file


def _listed(document: Document, key: str, value: Any) -> Iterator[tuple[KeyPath, str]]:
    items = [((key,), value)] if isinstance(value, str) else value
    if not isinstance(items, list):
        raise document.error((key,), "must be the name of a file, or a list of names")
    for position, item in enumerate(items):
        path, name = item if isinstance(item, tuple) else ((key, position), item)
        if not isinstance(name, str) or not name:
            raise document.error(path, "must be the name of a file")
        yield path, name
