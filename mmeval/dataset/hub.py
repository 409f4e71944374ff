"""Downloads data sets and models of the Hugging Face Hub, or finds them in its cache.

Files are downloaded and never run. The settings of ``huggingface_hub`` apply:
``HF_HOME`` (folder of the cache), ``HF_TOKEN`` (gated and private repositories),
``HF_ENDPOINT`` (another hub), ``HF_HUB_OFFLINE=1`` (cache only),
``HF_DATASETS_OFFLINE=1`` (the same for data sets) and ``TRANSFORMERS_OFFLINE=1`` (the
same for models).
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
_OFFLINE_OF_KIND: Mapping[RepoKind, str] = {
    "dataset": "HF_DATASETS_OFFLINE",
    "model": "TRANSFORMERS_OFFLINE",
}
"""Variables that forbid network access for one kind of repository. They are used if
HF_HUB_OFFLINE is not set."""
_TRANSPORT = re.compile("Connect|Timeout|Network|Proxy|Protocol")
TRUE = ("1", "ON", "YES", "TRUE")
"""Values of a variable that mean true, as in ``huggingface_hub``."""


class OutOfReachError(MissingDataError):
    """The hub cannot be reached from this machine at the moment.

    ``reason`` explains why. This text is the same for all requests.
    """

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class HubFile(NamedTuple):
    """A file of a repository, as listed by the hub.

    ``etag`` is the SHA-256 of the content for a large file, and git's digest for a
    small file.
    """

    path: str
    size: int
    etag: str
    is_large: bool


class Listing(NamedTuple):
    """The files of a repository at a revision, and the commit of the revision."""

    commit: str
    files: tuple[HubFile, ...]


def listing(
    repo: str,
    revision: str,
    *,
    kind: RepoKind = "dataset",
) -> Listing:
    """Returns the files of a repository with their sizes, as listed by the hub.

    Raises the same errors as ``snapshot``, and OutOfReachError if network access is
    forbidden.
    """
    import huggingface_hub as hub

    if offline(kind):
        raise _explained(RuntimeError(), f"{repo} at {revision}", kind)
    with explaining(f"{repo} at {revision}", kind):
        api = hub.HfApi()
        # the files are listed at the commit, since a branch may move between requests
        commit = str(api.repo_info(repo, revision=revision, repo_type=kind).sha)
        tree = api.list_repo_tree(repo, revision=commit, repo_type=kind, recursive=True)
        files: list[HubFile] = []
        for item in tree:
            if isinstance(item, hub.hf_api.RepoFile):
                etag = item.lfs.sha256 if item.lfs else item.blob_id
                is_large = item.lfs is not None
                files.append(HubFile(item.path, item.size, etag, is_large))
    for file in files:
        path = PurePosixPath(file.path)
        if ".." in path.parts or path.is_absolute() or "\\" in file.path:
            raise MissingDataError(
                f"{repo} at {commit}: a path leads out of the repository "
                f"({file.path!r}); do not use the repository"
            )
    return Listing(commit, tuple(files))


def not_here(
    repo: str, listed: Listing, *, kind: RepoKind = "dataset"
) -> tuple[HubFile, ...]:
    """Returns the listed files that the cache does not contain at the listing's commit.

    No request is sent to the hub. A file that the cache contains only at another commit
    is included, although it would not be downloaded again.
    """
    from huggingface_hub import try_to_load_from_cache as cached

    not_cached: list[HubFile] = []
    for file in listed.files:
        place = cached(repo, file.path, revision=listed.commit, repo_type=kind)
        if not isinstance(place, str):
            not_cached.append(file)
    return tuple(not_cached)


def snapshot(
    repo: str,
    revision: str,
    *,
    kind: RepoKind = "dataset",
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    into: Path | None = None,
) -> Path:
    """Downloads a repository's files at ``revision``, and returns their folder.

    The folder is ``into`` if this is given, else a folder in the cache. ``revision`` is
    a commit, tag or branch. Of these, only a commit always refers to the same files.
    ``only`` and ``without`` are patterns of files to include and to exclude. By
    default, all files are included.

    Cached files are not downloaded again, and an interrupted download is resumed.

    Raises MissingDataError for a missing repository or file, StorageError if the disk
    is full.
    """
    import huggingface_hub as hub
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():  # progress bars are for terminals
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
    """Returns the files of a repository, or an empty list if the hub is unreachable."""
    import huggingface_hub as hub

    if offline(kind):
        return []
    try:
        with explaining(repo, kind):
            names = hub.HfApi().list_repo_files(repo, revision=revision, repo_type=kind)
            return list(names)
    except MmevalError:  # ``snapshot`` reports a missing file later
        return []


@contextlib.contextmanager
def explaining(subject: str, kind: RepoKind) -> Iterator[None]:
    try:
        yield
    except UsageError:
        raise
    except (
        Exception
    ) as error:  # the library, its transport and the disk raise many errors
        raise _explained(error, subject, kind) from error


def _explained(
    error: BaseException,
    subject: str,
    kind: RepoKind,
) -> MmevalError:
    """Converts an error of ``huggingface_hub`` to an error for the user.

    The most specific class is tested first, because the classes inherit from each
    other.
    """
    from huggingface_hub import errors

    noun = NOUN[kind]
    if isinstance(error, errors.GatedRepoError):
        return MissingDataError(
            f"{subject}: the {noun} is gated; accept its terms on its page, then set "
            "HF_TOKEN to a token of that account"
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return MissingDataError(
            f"{subject}: the hub has no such {noun}; check the name, or set HF_TOKEN "
            "if it is private"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return MissingDataError(
            f"{subject}: the {noun} has no such revision; check its history on the hub"
        )
    if isinstance(error, errors.HFValidationError):
        return MissingDataError(
            f"{subject}: this is not the name of a {noun}; write owner/name or the "
            "path of a local folder"
        )
    for cause in _chain(error):
        codes = (errno.ENOSPC, errno.EDQUOT)
        if isinstance(cause, OSError) and cause.errno in codes:
            return StorageError(
                f"{subject}: the disk is full; free space or set HF_HOME to a larger "
                "disk, then run again"
            )
    variable = offline(kind)
    reason = f"{variable} is set" if variable else _unreachable(error, errors)
    how_to_fix = f"; run once with {variable}=0" if variable else ""
    return OutOfReachError(
        f"{subject} is not on this machine: {reason}{how_to_fix}",
        reason=reason,
    )


def _unreachable(error: BaseException, errors: Any) -> str:
    """Returns why the hub did not deliver the files.

    Causes that the user can remove are checked first.
    """
    status: int | None = None
    # errors of the connection, by the names of the transports' classes
    is_transport = False
    for cause in _chain(error):
        code = getattr(getattr(cause, "response", None), "status_code", None)
        if status is None and isinstance(code, int):
            status = code
        if _TRANSPORT.search(type(cause).__name__):
            is_transport = True
    if status in (401, 403):
        return (
            f"the hub refuses access (HTTP {status}); set HF_TOKEN to a token with "
            "read access"
        )
    if status is not None:
        return (
            f"the hub answered HTTP {status}; try again later (finished files are kept)"
        )
    if isinstance(error, errors.LocalEntryNotFoundError) or is_transport:
        return "the hub cannot be reached; check the network, HF_ENDPOINT and proxies"
    reason = str(error).splitlines()[0] if str(error) else "no reason"
    return f"the download failed ({type(error).__name__}: {reason})"


def offline(kind: RepoKind) -> str:
    """Returns the variable that forbids network access, or an empty string.

    If HF_HUB_OFFLINE is not set, ``huggingface_hub`` reads TRANSFORMERS_OFFLINE, even
    for data sets.
    """
    from huggingface_hub.constants import HF_HUB_OFFLINE

    if HF_HUB_OFFLINE:
        is_set = os.environ.get("HF_HUB_OFFLINE")
        return "HF_HUB_OFFLINE" if is_set else "TRANSFORMERS_OFFLINE"
    variable = _OFFLINE_OF_KIND[kind]
    return variable if os.environ.get(variable, "").upper() in TRUE else ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yields an error and its causes, at most ten."""
    current: BaseException | None = error
    for _ in range(10):
        if current is None:
            return
        yield current
        current = current.__cause__ or current.__context__
