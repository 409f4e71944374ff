"""Reads the cache of the Hugging Face Hub on this machine; never asks the hub.

<cache>/<kind>s--<owner>--<name>/refs/<branch>          the commit that a branch was
<cache>/<kind>s--<owner>--<name>/snapshots/<commit>/    the files
<cache>/<kind>s--<owner>--<name>/blobs/<digest>         their contents, shared by commits
"""

from __future__ import annotations

import re
from pathlib import Path

from mmeval.dataset.hub import HubFile, RepoKind

_COMMIT = re.compile(r"[0-9a-f]{40}")


def cache_folder() -> Path:
    """The folder of the hub's files."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE)


def repo_folder(repo: str, kind: RepoKind) -> Path:
    return cache_folder() / f"{kind}s--{repo.replace('/', '--')}"


def commit_of(repo: str, revision: str, kind: RepoKind) -> str:
    """The commit of a revision when it was fetched; empty when it never was."""
    if _COMMIT.fullmatch(revision):
        return revision
    try:
        found = (repo_folder(repo, kind) / "refs" / revision).read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
    return found if _COMMIT.fullmatch(found) else ""


def snapshot_folder(repo: str, commit: str, kind: RepoKind) -> Path:
    """Where the files of a commit are, if any were fetched."""
    return repo_folder(repo, kind) / "snapshots" / commit


def cached_snapshot(repo: str, revision: str, kind: RepoKind) -> Path | None:
    """The folder of files fetched at a revision, complete or not; None without any."""
    commit = commit_of(repo, revision, kind)
    folder = snapshot_folder(repo, commit, kind)
    return folder if commit and folder.is_dir() else None


def is_cached(file: HubFile, repo: str, commit: str, kind: RepoKind) -> bool:
    """Whether a file need not be fetched: its content is here, even by another commit."""
    places = (snapshot_folder(repo, commit, kind) / file.path, repo_folder(repo, kind) / "blobs" / file.etag)
    return any(size_on_disk(path) == file.size for path in places)


def size_on_disk(path: Path) -> int:
    """The bytes of a file; -1 where there is none."""
    try:
        return path.stat().st_size if path.is_file() else -1
    except OSError:
        return -1
