"""Fetches the files of released prompts into the cache, and checks their texts."""

from __future__ import annotations

import hashlib
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from mmeval.dataset.hub import offline
from mmeval.errors import MissingDataError
from mmeval.findings.finding import Finding, Subject
from mmeval.system.folders import write_atomic
from mmeval.task.released.cached import (
    MAX_BYTES,
    cached_path,
    content_of,
    file_in,
    released_text,
)
from mmeval.task.released.catalogue import Catalogue, ReleasedFile
from mmeval.task.released.recipe import RecipeError

State = Literal["here", "changed", "missing", "figure"]
STATES: tuple[State, ...] = ("here", "changed", "missing", "figure")
_TIMEOUT = 30.0
"""Seconds without an answer of the host."""


@dataclass(frozen=True)
class PromptState:
    """The state of a released prompt, and its reason unless the prompt is here.

    ``figure`` means that the prompt stands in a figure only, and has to be typed.
    """

    id: str
    state: State
    reason: str = ""


@dataclass(frozen=True)
class FileState:
    """The states of the prompts of a file, and why the file could not be obtained."""

    file: ReleasedFile
    prompts: tuple[PromptState, ...]
    error: MissingDataError | None = None

    @property
    def complete(self) -> bool:
        return all(prompt.state == "here" for prompt in self.prompts)

    def findings(self) -> Iterator[Finding]:
        """Yields an error for a file that is missing, and for each changed text."""
        if self.error is not None:
            yield Finding(
                "missing_data",
                Subject(file=str(cached_path(self.file))),
                cause=str(self.error),
                remedy="mmeval prepare {TASK} --prompts --prompts_from CLONE",
                severity="error",
            )
        for prompt in self.prompts:
            if prompt.state == "changed":
                subject = Subject(name=prompt.id)
                yield Finding("damaged", subject, cause=prompt.reason, severity="error")


def cached_state(file: ReleasedFile) -> FileState:
    """Returns the states of a file's prompts in the cache."""
    path = cached_path(file)
    try:
        return _state(file, content_of(path))
    except OSError:
        return _missing(file, MissingDataError(f"{path.name} is not in the cache"))


def hosts(files: Iterable[ReleasedFile]) -> list[str]:
    """Returns the hosts that files are fetched from, each once."""
    names = (urlsplit(file.address).netloc for file in files)
    return list(dict.fromkeys(names))


def obtain(file: ReleasedFile, folder: Path | None) -> FileState:
    """Copies a file from a folder, or fetches it, and stores it in the cache.

    A fetched file must have the digest of the catalogue. A file of a folder may come
    from another commit, so only its texts are checked. A file without any unchanged
    text is not stored.
    """
    try:
        content = _fetched(file) if folder is None else _copied(file, folder)
    except MissingDataError as error:
        return _missing(file, error)
    actual = hashlib.sha256(content).hexdigest()
    if folder is None and file.keys.sha256 not in (None, actual):
        reason = (
            f"{file.keys.path} has the SHA-256 {actual[:12]}..., "
            f"not {str(file.keys.sha256)[:12]}..."
        )
        return _all(file, "changed", reason)
    state = _state(file, content)
    if any(prompt.state == "here" for prompt in state.prompts):
        write_atomic(cached_path(file), content)
    return state


def figure_states(catalogues: Iterable[Catalogue]) -> Iterator[PromptState]:
    """Yields the prompts that stand in figures, each with its file in a folder for
    ``--prompts``."""
    for catalogue in catalogues:
        for figure in catalogue.figures:
            names = figure.replaces or ("TASK",)
            files = " and ".join(f"FOLDER/{name}.jinja" for name in names)
            where = f"type it into {files} ({figure.shown_in})"
            yield PromptState(figure.id, "figure", where)


def without_licence(files: Sequence[ReleasedFile]) -> list[str]:
    """Returns the repositories without a licence, each once."""
    names: dict[str, None] = {}
    for file in files:
        if file.source.license == "none":
            names[file.source.repository] = None
    return list(names)


def _state(file: ReleasedFile, content: bytes) -> FileState:
    states: list[PromptState] = []
    for prompt in file.keys.prompts:
        try:
            released_text(prompt, content)
        except RecipeError as error:
            states.append(PromptState(prompt.id, "changed", str(error)))
        else:
            states.append(PromptState(prompt.id, "here"))
    return FileState(file, tuple(states))


def _missing(file: ReleasedFile, error: MissingDataError) -> FileState:
    return FileState(file, _all(file, "missing", file.keys.path).prompts, error)


def _all(file: ReleasedFile, state: State, reason: str) -> FileState:
    prompts = [PromptState(prompt.id, state, reason) for prompt in file.keys.prompts]
    return FileState(file, tuple(prompts))


def _copied(file: ReleasedFile, folder: Path) -> bytes:
    path = file_in(folder, file)
    if path is None:
        raise MissingDataError(
            f"{file.keys.path} of {file.source.repository} is not in {folder}"
        )
    try:
        return content_of(path)
    except OSError as error:
        raise MissingDataError(f"{path} cannot be read ({error})") from None


def _fetched(file: ReleasedFile) -> bytes:
    variable = offline("dataset")
    if variable:
        raise MissingDataError(
            f"{variable} is set; copy {file.keys.path} of {file.source.repository} at "
            f"{file.commit} to this place, or name a clone"
        )
    try:
        with urllib.request.urlopen(file.address, timeout=_TIMEOUT) as answer:
            content: bytes = answer.read(MAX_BYTES + 1)
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", "") or error
        raise MissingDataError(
            f"{file.address} cannot be fetched ({reason}); copy the file to this "
            "place, or name a clone"
        ) from None
    if len(content) > MAX_BYTES:
        raise MissingDataError(f"{file.address} has more than {MAX_BYTES:,} bytes")
    return content
