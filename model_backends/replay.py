"""Replays stored answers: each trial gets the answer of its sample and repeat."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from mmeval.backend import Capabilities, TaskAhead
from mmeval.errors import MissingDataError
from mmeval.interchange import MEDIA_ROOT, AnswerPlace, MissingAnswer, open_answers
from mmeval.media import PART_KINDS
from mmeval.records import Request, Response, Sample

log = logging.getLogger(__name__)


class ReplayBackend:
    """Returns stored answers, without calling a model.

    The files have a format that 'mmeval ls formats' lists. The backend accepts and
    returns all kinds. A trial without an answer fails with an error of the kind
    ``no_answer``. The content of the files is the model's identity, so changed files
    count as another model.
    """

    capabilities = Capabilities.of(PART_KINDS, PART_KINDS, "interleaved")

    def __init__(
        self, path: str, format: str = "mmeval", name: str = "", **options: Any
    ) -> None:
        """Reads ``path`` (a folder or file) as the answers of the model ``name``.

        ``options`` are those of the format. Raises UsageError or MissingDataError if
        the answers cannot be read.
        """
        self._path = Path(path).expanduser()
        self._format = format
        self._name = name
        self._options = options
        if not self._path.exists():
            raise MissingDataError(
                f"{self._path} does not exist. Name the folder of answers with path="
            )
        self._answers = open_answers(format, self._path, options)

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        options = dict(self._options)
        # Left out: the digest covers the media at any location.
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
        """Logs how many answers are found, missing, unused or from another protocol."""
        for remark in self._answers.remarks:
            log.warning(remark)
        places: set[AnswerPlace] = set()
        expected = available = 0
        for task in tasks:
            counts = self._count_answers(task, places)
            expected += counts.total()
            available += counts["there"] + counts["failed"]
        used = Counter(place.group for place in places)
        for group, count in self._answers.counts.items():
            if group in used and count > used[group]:
                log.warning(
                    "%s: unused answers: %d of %d. They belong to other samples or to "
                    "further repeats",
                    group,
                    count - used[group],
                    count,
                )
        of = f" of {self._answers.model}" if self._answers.model else ""
        log.info(
            "replaying answers%s from %s (format %s): %d of %d found; no model is "
            "called, nothing is spent",
            of,
            self._path,
            self._format,
            available,
            expected,
        )

    def answer(
        self,
        task: str,
        sample: Sample,
        repeat: int,
        request: Request,  # noqa: ARG002
    ) -> Response:
        stored = self._answers.answer(task, sample, repeat)
        if isinstance(stored, MissingAnswer):
            return Response.failed("no_answer", stored.reason)
        return stored.response

    async def close(self) -> None:
        self._answers.close()

    def _count_answers(self, task: TaskAhead, places: set[AnswerPlace]) -> Counter[str]:
        """Counts a task's answers, and logs a summary.

        The counts are ``there``, ``failed`` (recorded failures) and ``missing``.
        """
        counts: Counter[str] = Counter()
        first_reason = ""
        for sample in task.samples():
            for repeat in range(task.repeats):
                stored = self._answers.answer(task.name, sample, repeat)
                if isinstance(stored, MissingAnswer):
                    counts["missing"] += 1
                    first_reason = first_reason or stored.reason
                    if stored.place is not None:
                        places.add(stored.place)
                    continue
                counts["there" if stored.response.error is None else "failed"] += 1
                places.add(stored.place)
        if counts["missing"]:
            log.warning(
                "%s: missing answers: %d of %d. The first: %s",
                task.name,
                counts["missing"],
                counts.total(),
                first_reason,
            )
        if counts["failed"]:
            log.warning(
                "%s: recorded failures of the model: %d",
                task.name,
                counts["failed"],
            )
        if task.protocol != "single":
            log.info(
                "%s: answers are replayed as a whole; the protocol %s is not followed",
                task.name,
                task.protocol,
            )
        return counts
