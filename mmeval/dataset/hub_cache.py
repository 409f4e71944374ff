"""Inspects the Hugging Face Hub cache on this machine, without network access."""

from __future__ import annotations

import re
from pathlib import Path

from mmeval.dataset.hub import RepoKind

COMMIT = re.compile(r"[0-9a-f]{40}")


def cache_folder() -> Path:
    """Returns the folder of the cache."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE)


def cached_snapshot(
    repo: str,
    revision: str,
    kind: RepoKind,
) -> Path | None:
    """Returns the cached folder of a revision, or None if the cache does not contain
    it.

    The folder may be incomplete. Its name is the commit that the revision had when it
    was downloaded.
    """
    from huggingface_hub import errors, snapshot_download

    try:  # without a pattern, the library returns an incomplete snapshot too
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
    """Returns the size of a file in bytes, or -1 if it does not exist."""
    try:
        return path.stat().st_size if path.is_file() else -1
    except OSError:
        return -1
