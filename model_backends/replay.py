"""Replays answers made elsewhere: for each trial that of its sample and repeat."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from mmeval.backend import Capabilities, TaskAhead
from mmeval.errors import MissingDataError
from mmeval.interchange import MEDIA_ROOT, Absent, AnswerPlace, open_answers
from mmeval.media import PART_KINDS
from mmeval.records import Request, Response, Sample

log = logging.getLogger(__name__)


class ReplayBackend:
    """Answers made elsewhere, in files of a format that 'mmeval ls formats' lists.
    No model is asked.

    Takes and gives everything. A trial without an answer fails with an error of the
    kind ``no_answer``. The content of the files is the model's identity: changed files
    are another model.
    """

    capabilities = Capabilities.of(PART_KINDS, PART_KINDS, "interleaved")

    def __init__(
        self, path: str, format: str = "mmeval", name: str = "", **options: Any
    ) -> None:
        """Read ``path`` (folder or file) as model ``name``, by the format's
        ``options``. Raises UsageError or MissingDataError for what cannot be read."""
        self._path = Path(path).expanduser()
        self._format = format
        self._name = name
        self._options = options
        if not self._path.exists():
            raise MissingDataError(
                f"{self._path}: nothing is there; name the folder of the answers with "
                "path="
            )
        self._answers = open_answers(format, self._path, options)

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        options = dict(self._options)
        # the digest covers the media, wherever they are
        options.pop(MEDIA_ROOT, None)
        return {
            "backend": "replay",
            "format": self._format,
            **options,
            "answers": self._answers.digest,
        }

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {"path": str(self._path.resolve()), "model": self._answers.model}

    def foresee(self, tasks: Sequence[TaskAhead]) -> None:
        """Report answers that are there, missing, left over, or of another protocol."""
        for remark in self._answers.remarks:
            log.warning(remark)
        places: set[AnswerPlace] = set()
        asked = found = 0
        for task in tasks:
            looked = self._look(task, places)
            asked += looked.total()
            found += looked["there"] + looked["failed"]
        used = Counter(place.group for place in places)
        for group, count in self._answers.counts.items():
            if group in used and count > used[group]:
                log.warning(
                    "%s: answers that this run does not ask for: %d of %d; they are "
                    "of other samples, or of more repeats",
                    group,
                    count - used[group],
                    count,
                )
        of = f" of {self._answers.model}" if self._answers.model else ""
        log.info(
            "replaying answers%s from %s (format %s), found: %d of %d; no model is "
            "called, and nothing is spent",
            of,
            self._path,
            self._format,
            found,
            asked,
        )

    def answer(
        self,
        task: str,
        sample: Sample,
        repeat: int,
        request: Request,  # noqa: ARG002
    ) -> Response:
        found = self._answers.answer(task, sample, repeat)
        if isinstance(found, Absent):
            return Response.failed("no_answer", found.reason)
        return found.response

    async def close(self) -> None:
        self._answers.close()

    def _look(self, task: TaskAhead, places: set[AnswerPlace]) -> Counter[str]:
        """Count the answers of a task that are there, are failures, or are missing."""
        looked: Counter[str] = Counter()
        missing = ""
        for sample in task.samples():
            for repeat in range(task.repeats):
                found = self._answers.answer(task.name, sample, repeat)
                if isinstance(found, Absent):
                    looked["missing"] += 1
                    missing = missing or found.reason
                    if found.place is not None:
                        places.add(found.place)
                    continue
                looked["there" if found.response.error is None else "failed"] += 1
                places.add(found.place)
        if looked["missing"]:
            log.warning(
                "%s: missing answers: %d of %d; the first: %s",
                task.name,
                looked["missing"],
                looked.total(),
                missing,
            )
        if looked["failed"]:
            log.warning(
                "%s: recorded failures of the model: %d",
                task.name,
                looked["failed"],
            )
        if task.protocol != "single":
            log.info(
                "%s: answers are replayed whole; its protocol %s is not followed",
                task.name,
                task.protocol,
            )
        return looked
