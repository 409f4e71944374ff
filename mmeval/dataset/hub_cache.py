"""What the cache of the Hugging Face Hub on this machine holds; the hub is never
asked."""

from __future__ import annotations

import re
from pathlib import Path

from mmeval.dataset.hub import RepoKind

COMMIT = re.compile(r"[0-9a-f]{40}")


def cache_folder() -> Path:
    """The folder of the hub's files."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE)


def cached_snapshot(
    repo: str,
    revision: str,
    kind: RepoKind,
) -> Path | None:
    """The folder of files fetched at a revision, complete or not; None without any.
    Its name is the commit of the revision when it was fetched."""
    from huggingface_hub import errors, snapshot_download

    try:  # with no file wanted, none is missed
        folder = Path(
            snapshot_download(
                repo,
                repo_type=kind,
                revision=revision,
                local_files_only=True,
                allow_patterns=[],
            )
        )
    except (
        errors.LocalEntryNotFoundError,
        errors.HFValidationError,
        OSError,
        ValueError,
    ):
        return None
    return folder if COMMIT.fullmatch(folder.name) else None


def size_on_disk(path: Path) -> int:
    """The bytes of a file; -1 where there is none."""
    try:
        return path.stat().st_size if path.is_file() else -1
    except OSError:
        return -1
