"""Weights of metrics: files of a model at one commit, fetched by ``mmeval prepare TASKS --weights`` and nothing else.

    CLIP = Weights("owner/name", "0123456789abcdef0123456789abcdef01234567", ("config.json", "model.safetensors"))

    @metric(range=(0, 1), version="1", source="...", needs=("torch:hf",), weights=(CLIP,))
    def likeness(trial: Trial) -> float:
        folder = CLIP.folder

A metric whose weights are not on this machine is unavailable, which is said before a run. They lie in the cache of the
hub, or below the folder that ``MMEVAL_WEIGHTS_DIR`` names, as ``OWNER/NAME/FILE``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mmeval.errors import MissingDataError, PluginError

WEIGHTS_DIR = "MMEVAL_WEIGHTS_DIR"
_REPO = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Weights:
    """Files of the hub's model ``repo`` at the commit ``revision``. Every file that the metric opens is named, so that
    whether they are all there can be told without the hub.

    Raises PluginError for a name, a commit or a file that cannot be meant.
    """

    repo: str
    revision: str
    files: tuple[str, ...]

    def __post_init__(self) -> None:
        if not _REPO.fullmatch(self.repo) or ".." in self.repo:
            raise PluginError(f"weights {self.repo!r}: write the name of a model of the hub, as in owner/name")
        if not _COMMIT.fullmatch(self.revision):
            raise PluginError(f"weights {self.repo}: {self.revision!r} is no commit (40 hexadecimal digits); pin one")
        if not self.files or isinstance(self.files, str):
            raise PluginError(f"weights {self.repo}: name every file that the metric opens")
        for file in self.files:
            if ".." in (path := PurePosixPath(file)).parts or path.is_absolute():
                raise PluginError(f"weights {self.repo}: {file!r} is no path inside the model")

    def __str__(self) -> str:
        return f"{self.repo} at {self.revision[:12]}"

    @property
    def folder(self) -> Path:
        """Where all of the files are. Raises MissingDataError where they are not, MissingExtraError without the library
        that knows the cache."""
        for folder in self._places():
            if all((folder / file).is_file() for file in self.files):
                return folder
        raise MissingDataError(f"{self}: {', '.join(self.missing)} not here; run: mmeval prepare TASK --weights")

    @property
    def missing(self) -> tuple[str, ...]:
        """The files that lack, at the place that has most of them; none when the weights can be used."""
        lacking = (tuple(file for file in self.files if not (folder / file).is_file()) for folder in self._places())
        return min(lacking, key=len)

    def _places(self) -> Iterator[Path]:
        if own := os.environ.get(WEIGHTS_DIR):
            yield Path(own).expanduser() / self.repo
        from mmeval.hubcache import snapshot_folder

        yield snapshot_folder(self.repo, self.revision, "model")
