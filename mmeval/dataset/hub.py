"""Fetches data sets and models of the Hugging Face Hub, or finds them cached.

Files are fetched and never run. The library's own settings hold: ``HF_HOME`` (where the
cache is), ``HF_TOKEN`` (for gated and private ones), ``HF_ENDPOINT`` (another hub),
``HF_HUB_OFFLINE=1`` (the cache alone), or for one kind ``HF_DATASETS_OFFLINE=1`` and
``TRANSFORMERS_OFFLINE=1``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

from mmeval.errors import (
    MissingDataError,
    MmevalError,
    StorageError,
    UsageError,
)

RepoKind = Literal["dataset", "model"]
NOUN: Mapping[RepoKind, str] = {"dataset": "data set", "model": "model"}
_OWN_OFFLINE: Mapping[RepoKind, str] = {
    "dataset": "HF_DATASETS_OFFLINE",
    "model": "TRANSFORMERS_OFFLINE",
}
"""The variable that forbids the network for one kind alone, whether or not
HF_HUB_OFFLINE is set."""
_TRANSPORT = re.compile("Connect|Timeout|Network|Proxy|Protocol")
TRUE = ("1", "ON", "YES", "TRUE")
"""Values of a variable that mean yes, as the hub's library reads them."""


class OutOfReachError(MissingDataError):
    """The hub could not answer; elsewhere, or later, it may.

    ``reason`` is why, the same for all that it is asked for.
    """

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class HubFile(NamedTuple):
    """A file of a repository, as the hub describes it. ``etag`` is the SHA-256 of a
    large file's content, of a small one git's digest of it."""

    path: str
    size: int
    etag: str
    is_large: bool


class Listing(NamedTuple):
    """The files of a repository at a revision, and the commit of that revision then."""

    commit: str
    files: tuple[HubFile, ...]


def listing(
    repo: str,
    revision: str,
    *,
    kind: RepoKind = "dataset",
) -> Listing:
    """The files of a repository with sizes. Raises as ``snapshot``, and when
    offline."""
    import huggingface_hub as hub

    if offline(kind):
        raise _explained(RuntimeError(), f"{repo} at {revision}", kind)
    with explaining(f"{repo} at {revision}", kind):
        api = hub.HfApi()
        commit = str(api.repo_info(repo, revision=revision, repo_type=kind).sha)
        found = api.list_repo_tree(
            repo, revision=commit, repo_type=kind, recursive=True
        )
        files: list[HubFile] = []
        for item in found:
            if isinstance(item, hub.hf_api.RepoFile):
                etag = item.lfs.sha256 if item.lfs else item.blob_id
                is_large = item.lfs is not None
                files.append(HubFile(item.path, item.size, etag, is_large))
    for file in files:
        path = PurePosixPath(file.path)
        if ".." in path.parts or path.is_absolute() or "\\" in file.path:
            raise MissingDataError(
                f"{repo} at {commit}: it lists a file outside of itself "
                f"({file.path!r}); do not use it"
            )
    return Listing(commit, tuple(files))


def not_here(
    repo: str, listed: Listing, *, kind: RepoKind = "dataset"
) -> tuple[HubFile, ...]:
    """The files of a listing that the cache does not hold at its commit; never asks the
    hub. One that it holds at another commit alone is among them, although it would not
    be fetched again."""
    from huggingface_hub import try_to_load_from_cache as cached

    absent: list[HubFile] = []
    for file in listed.files:
        place = cached(repo, file.path, revision=listed.commit, repo_type=kind)
        if not isinstance(place, str):
            absent.append(file)
    return tuple(absent)


def snapshot(
    repo: str,
    revision: str,
    *,
    kind: RepoKind = "dataset",
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    into: Path | None = None,
) -> Path:
    """The folder of a repository's files at ``revision``, in the cache or ``into``.

    ``revision`` is a commit, tag or branch; a commit never changes. They are all files,
    or those that match a pattern of ``only`` and none of ``without``.

    Cached files are not fetched again, and an interrupted download goes on where it
    ended.

    Raises MissingDataError for what is missing, StorageError when the disk is full.
    """
    import huggingface_hub as hub
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():  # progress bars are for people
        disable_progress_bars()
    with explaining(f"{repo} at {revision}", kind):
        folder = hub.snapshot_download(
            repo,
            repo_type=kind,
            revision=revision,
            local_files_only=bool(offline(kind)),
            local_dir=into,
            allow_patterns=list(only) or None,
            ignore_patterns=list(without) or None,
        )
    return Path(folder)


def file_names(
    repo: str,
    revision: str,
    *,
    kind: RepoKind = "dataset",
) -> list[str]:
    """The files of a repository; an empty list where the hub cannot be asked."""
    import huggingface_hub as hub

    if offline(kind):
        return []
    try:
        with explaining(repo, kind):
            names = hub.HfApi().list_repo_files(repo, revision=revision, repo_type=kind)
            return list(names)
    except MmevalError:  # ``snapshot`` names a file that is missing then
        return []


@contextlib.contextmanager
def explaining(what: str, kind: RepoKind) -> Iterator[None]:
    try:
        yield
    except UsageError:
        raise
    except Exception as error:  # the library, its transport and the disk raise many
        raise _explained(error, what, kind) from error


def _explained(
    error: BaseException,
    what: str,
    kind: RepoKind,
) -> MmevalError:
    """An error with one message for the user. The most special class is tested first,
    because they inherit from each other."""
    from huggingface_hub import errors

    noun = NOUN[kind]
    if isinstance(error, errors.GatedRepoError):
        return MissingDataError(
            f"{what}: the {noun} is gated; accept its terms on its page, then set "
            "HF_TOKEN to a token of that account"
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return MissingDataError(
            f"{what}: the hub has no such {noun}; check the name, or set HF_TOKEN if "
            "it is private"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return MissingDataError(
            f"{what}: the {noun} has no such revision; check it against the {noun}'s "
            "history"
        )
    if isinstance(error, errors.HFValidationError):
        return MissingDataError(
            f"{what}: this is not a name of a {noun}; write owner/name or the path of "
            "a local folder"
        )
    for cause in _chain(error):
        codes = (errno.ENOSPC, errno.EDQUOT)
        if isinstance(cause, OSError) and cause.errno in codes:
            return StorageError(
                f"{what}: the disk is full; free space or set HF_HOME to a larger "
                "disk, then run again"
            )
    variable = offline(kind)
    reason = f"{variable} is set" if variable else _unreachable(error, errors)
    how_to_fix = f"; run once with {variable}=0" if variable else ""
    return OutOfReachError(
        f"{what} is not on this machine: {reason}{how_to_fix}",
        reason=reason,
    )


def _unreachable(error: BaseException, errors: Any) -> str:
    """Why the hub did not give the files, in the order of what the user can change."""
    status: int | None = None
    # of the connection to the hub, by the names of transports' classes
    is_transport = False
    for cause in _chain(error):
        code = getattr(getattr(cause, "response", None), "status_code", None)
        if status is None and isinstance(code, int):
            status = code
        if _TRANSPORT.search(type(cause).__name__):
            is_transport = True
    if status in (401, 403):
        return (
            f"the hub refuses access (HTTP {status}); set HF_TOKEN to a token that "
            "may read it"
        )
    if status is not None:
        return (
            f"the hub answered HTTP {status}; try again later, finished files are kept"
        )
    if isinstance(error, errors.LocalEntryNotFoundError) or is_transport:
        return "the hub cannot be reached; check the network, HF_ENDPOINT and proxies"
    reason = str(error).splitlines()[0] if str(error) else "no reason"
    return f"it cannot be fetched ({type(error).__name__}: {reason})"


def offline(kind: RepoKind) -> str:
    """The variable that forbids the network, or nothing. Where HF_HUB_OFFLINE is not
    set, the library reads TRANSFORMERS_OFFLINE instead, for data sets too."""
    from huggingface_hub.constants import HF_HUB_OFFLINE

    if HF_HUB_OFFLINE:
        is_set = os.environ.get("HF_HUB_OFFLINE")
        return "HF_HUB_OFFLINE" if is_set else "TRANSFORMERS_OFFLINE"
    own = _OWN_OFFLINE[kind]
    return own if os.environ.get(own, "").upper() in TRUE else ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and what it was raised from, at most ten."""
    found: BaseException | None = error
    for _ in range(10):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__
