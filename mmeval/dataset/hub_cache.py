"""Inspects the Hugging Face Hub cache on this machine, without network access."""

from __future__ import annotations

import re
from pathlib import Path

from mmeval.dataset.hub import RepoKind

COMMIT = re.compile(r"[0-9a-f]{40}")


def cache_folder() -> Path:
    """The folder of the cache."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE)


def cached_snapshot(
    repo: str,
    revision: str,
    kind: RepoKind,
) -> Path | None:
    """The cached folder of a revision, complete or not; None if there is none.

    Its name is the commit of the revision when it was downloaded.
    """
    from huggingface_hub import errors, snapshot_download

    try:  # no pattern: an incomplete snapshot is returned too
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
    """The size of a file in bytes; -1 if there is none."""
    try:
        return path.stat().st_size if path.is_file() else -1
    except OSError:
        return -1
