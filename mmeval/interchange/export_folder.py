"""What writers of answers share: the folder that they fill, with what they count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from mmeval.content.media import Media
from mmeval.content.media_type import suffix_for
from mmeval.errors import UsageError
from mmeval.records.digests import content_digest, digest
from mmeval.records.trial import Trial
from mmeval.wording import counted, file_name

_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")


class ExportFolder:
    """A folder whose layout has one place for each repeat of a sample; ``counts`` are by the writer's own words."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: Counter[str] = Counter()
        self._digests: dict[tuple[int, str], str] = {}

    def check_one_answer(self, trial: Trial) -> None:
        """Raises UsageError where another task has another answer to the same sample."""
        name = trial.sample.id
        found = content_digest(b"", []) if trial.output is None else content_digest(b"answer", [("", trial.output)])
        if self._digests.setdefault((trial.repeat, name), found) != found:
            raise UsageError(
                f"two tasks have different answers to {name}, repeat {trial.repeat}, and the layout has one place for "
                "both; export one of them with --tasks"
            )

    def put(self, medium: Media, stem: str) -> str:
        """Write a medium; returns its path below the folder."""
        return self.write(f"{stem}{suffix_for(medium.mime)}", medium.read())

    def write(self, name: str, content: bytes) -> str:
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        self.counts["media"] += 1
        return name

    def lines(self, words: Mapping[str, str]) -> Iterator[str]:
        """A line for each count that is not 0."""
        yield from (f"{counted(self.counts[key], 'answer')}: {how}" for key, how in words.items() if self.counts[key])


def stem_of(trial: Trial) -> str:
    """The name of a trial's media, by the sample's id as far as it can be part of a file name."""
    name = trial.sample.id
    stem = name if _PLAIN_ID.fullmatch(name) else f"{file_name(name)[:40]}_{digest(name)[:8]}"
    return f"{stem}_repeat{trial.repeat}" if trial.repeat else stem
