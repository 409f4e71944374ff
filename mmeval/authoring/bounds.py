"""Measures the bounds of metrics.

Bounds are the scores of references, of shuffled references and of empty answers.

A metric that scores the references of other samples as high as the right references
does not measure the answer. The three kinds of answers are scored in ordinary runs in a
temporary folder, over a limited number of samples of each task, without repeats.
"""

from __future__ import annotations

import logging
import math
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from mmeval import plugins
from mmeval.backend.capabilities import Capabilities
from mmeval.backend.probe import Probing
from mmeval.findings.finding import Finding, Severity, Subject
from mmeval.media.parts import PART_KINDS, Interleaved
from mmeval.metric.scoring.score_set import finished_rows
from mmeval.program.protocols import single
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import Sample
from mmeval.records.score import Result
from mmeval.report.progress_bar import LoggedProgress
from mmeval.run.jobs import JobQueue
from mmeval.run.options import BackendSpec, RunOptions, RunOutcome
from mmeval.store.media_store import MediaStore
from mmeval.task.task import Selection, Task

LIMIT = 200
"""The default number of samples per task."""
SEED = 7
"""The seed for shuffling references."""
ENOUGH = 20
"""The smallest number of scored samples for which standard errors are used."""

Which = Literal["reference", "shuffled", "empty"]
ReferenceAnswers = Mapping[str, Mapping[str, Interleaved]]
"""The answers by task and by id of a sample."""
WARNING_LOGGERS = ("mmeval.broker.outage", "mmeval.run.judging")
"""The loggers whose warnings are shown while bounds are measured. They warn, for
example, about a role that does not answer."""


_ANSWERS: Mapping[Which, str] = {
    "reference": "references",
    "shuffled": "references of other samples",
    "empty": "empty answers",
}
_PREFIX = "mmeval-bounds-"
_SUSPENDED = "its role stopped answering"


@dataclass(frozen=True)
class Bounds:
    """One number of a task, computed for right, shuffled and empty answers.

    If the number is unavailable, the reason is given instead.
    """

    task: Task
    metric: str
    higher_is_better: bool
    results: Mapping[Which, Result] = field(default_factory=dict)
    unavailable: str = ""
    only_one: bool = False
    """True if fewer than two samples have a reference, so there is nothing to
    shuffle."""
    lost: Mapping[Which, str] = field(default_factory=dict)
    """The most frequent reason why answers have no score, for each kind of answers."""
    judged: bool = False
    reference_free: bool = False
    """True if the metric uses no reference, so shuffling does not check it."""
    range: tuple[float, float] = (-math.inf, math.inf)
    """The lowest and the highest possible value."""

    def value(self, which: Which) -> float | None:
        result = self.results.get(which)
        return None if result is None else result.value

    def doubts(self) -> Iterator[Finding]:
        """Yields findings about a number that cannot distinguish models.

        If shuffled references score clearly better than the right references, the
        finding is an error, because the metric's direction or the references must be
        wrong. A number that cannot be computed for the right references is also an
        error.
        """
        right = self.results.get("reference")
        if right is not None and right.value is None and _applicable(right):
            yield self._lost("reference", right, "error")
            return
        for which, result in self.results.items():
            if self.judged and _applicable(result) > result.scored:
                yield self._lost(which, result, "warning")
        shuffled = None if self.reference_free else self._margin("shuffled")
        if shuffled is not None:
            noise = self._noise("shuffled")
            if shuffled < -noise:
                yield self._alike("shuffled", "error")
            elif shuffled <= noise:
                yield self._alike("shuffled", "warning")
        empty = self._margin("empty")
        if empty is not None and empty <= self._noise("empty"):
            yield self._alike("empty", "warning")

    def _lost(
        self,
        which: Which,
        result: Result,
        severity: Severity,
    ) -> Finding:
        cause = _SUSPENDED if result.suspended else self.lost.get(which, "")
        applicable = _applicable(result)
        return Finding(
            "unscored",
            Subject(self.task.name, self.metric),
            applicable - result.scored,
            applicable,
            cause=f"{_ANSWERS[which]}: {cause}",
            severity=severity,
        )

    def _alike(self, other: Which, severity: Severity) -> Finding:
        """Returns the finding that the number does not distinguish right answers from
        other answers."""
        right, wrong = self.value("reference"), self.value(other)
        return Finding(
            "task_file",
            Subject(self.task.name, self.metric),
            cause=f"references get {right:.4f}, {_ANSWERS[other]} {wrong:.4f}",
            severity=severity,
        )

    def _margin(self, other: Which) -> float | None:
        """Returns how much better right answers are than other answers, or None if
        either number is missing."""
        right, wrong = self.value("reference"), self.value(other)
        if right is None or wrong is None:
            return None
        return right - wrong if self.higher_is_better else wrong - right

    def _noise(self, other: Which) -> float:
        """Returns two standard errors of the difference, or 0 if there are too few
        samples."""
        right, wrong = self.results["reference"], self.results[other]
        if min(right.scored, wrong.scored) < ENOUGH:
            return 0.0
        return 2 * math.hypot(right.stderr or 0.0, wrong.stderr or 0.0)


def _applicable(result: Result) -> int:
    """Returns the number of answers that the metric could score."""
    return result.n - result.unsupported - result.inapplicable


def judge_calls(
    tasks: Sequence[Task], roles: Mapping[str, BackendSpec], limit: int | None = None
) -> dict[str, int]:
    """Counts, for each role, the calls that metrics make to score one model's answers.

    With a ``limit``, only the first samples of each task are counted, without repeats.

    The answers are placeholders, so the counts may differ for a metric with calls that
    depend on the answer. Nothing is sent, and no backend of a role is created.
    """
    metrics = [metric for task in tasks for metric in task.metrics]
    if not any(
        metric.bound.metric.judged and not metric.unavailable for metric in metrics
    ):
        return {}
    from mmeval.forecast.dry_run import forecast

    tasks = tasks if limit is None else _asked_once(tasks)
    backends = {
        role: BackendSpec(role, instance=_CountingBackend(role)) for role in roles
    }
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as temporary:
        folder = Path(temporary)
        options = RunOptions(
            BackendSpec("model", instance=_CountingBackend("model")),
            folder,
            roles=backends,
            limit=limit,
        )
        estimate = forecast(Selection(tuple(tasks)), options)
    calls: dict[str, float] = {}
    for task in estimate.tasks:
        for role, load in task.loads.items():
            if role in roles:
                calls[role] = calls.get(role, 0) + load.calls + load.equal
    return {role: round(count) for role, count in calls.items()}


def measure(
    tasks: Sequence[Task],
    roles: Mapping[str, BackendSpec],
    *,
    limit: int = LIMIT,
    probe: Probing = "auto",
) -> list[Bounds]:
    """Measures the bounds of every number of the tasks, in order.

    For an unavailable number, the result contains the reason.

    The roles are called for one kind of answers after another, until a role stops
    answering. The data of the tasks must be valid. Raises the errors of a run, such as
    MissingError for a missing key. Raises UsageError for tasks that cannot be run.
    """
    from mmeval.run.runner import run

    single_tasks = _asked_once(tasks)
    if not single_tasks:
        return []
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as temporary:
        folder = Path(temporary)
        answers = shuffled_answers(single_tasks, limit=limit)
        models: dict[Which, BackendSpec] = {
            "reference": BackendSpec("reference"),
            "shuffled": BackendSpec("shuffled", instance=_ShuffledReferences(answers)),
            "empty": BackendSpec("empty"),
        }
        results_by_kind: dict[Which, list[Result]] = {}
        lost: dict[tuple[str, str], dict[Which, str]] = {}
        for which, model in models.items():
            options = RunOptions(
                model, folder, run_id=which, roles=roles, limit=limit, probe=probe
            )
            with _hushed():
                outcome = run(
                    Selection(single_tasks), options, progress=LoggedProgress()
                )
            results_by_kind[which] = [
                result for result in outcome.results if not result.slice
            ]
            for number, causes in _unscored(outcome).items():
                [(cause, _)] = causes.most_common(1)
                lost.setdefault(number, {})[which] = cause
            if any(result.suspended for result in results_by_kind[which]):
                break  # the other runs would wait for the same role
    measured: list[Bounds] = []
    for task in single_tasks:
        for bounds in _of_task(task, results_by_kind, only_one=not answers[task.name]):
            reasons = lost.get((task.name, bounds.metric), {})
            measured.append(replace(bounds, lost=reasons))
    return measured


def _unscored(outcome: RunOutcome) -> dict[tuple[str, str], Counter[str]]:
    """Returns the reasons why trials have no score, for each number of each task."""
    reasons_by_number: dict[tuple[str, str], Counter[str]] = {}
    for task, folder in outcome.score_sets.items():
        for row in finished_rows(folder, lambda _index, _repeat: True):
            for output, score in row["scores"].items():
                if score["status"] == "unscored":
                    reasons = reasons_by_number.setdefault((task, output), Counter())
                    reasons[str(score["reason"])] += 1
    return reasons_by_number


def _asked_once(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """Returns the tasks without repeats and without a protocol, because complete
    answers need neither."""
    return tuple(replace(task, repeats=1, protocol=single) for task in tasks)


def shuffled_answers(
    tasks: Sequence[Task], *, limit: int = LIMIT
) -> dict[str, dict[str, Interleaved]]:
    """Gives each sample the reference of another sample, drawn with ``SEED``.

    Returns the references by task and sample. Invalid samples and samples without a
    reference are left out. If fewer than two samples of a task are left, the result has
    no references for the task.
    """
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as temporary:
        folder = Path(temporary)
        options = RunOptions(BackendSpec("reference"), folder, limit=limit)
        plan = JobQueue(tuple(tasks), options, MediaStore(folder))
        answers: dict[str, dict[str, Interleaved]] = {}
        for position, task in enumerate(tasks):
            references: list[tuple[str, Interleaved]] = []
            for _, sample in plan.samples(position):
                if sample.references and not sample.fault:
                    references.append((sample.id, sample.references[0]))
            random.Random(SEED).shuffle(references)
            drawn = answers[task.name] = {}
            if len(references) < 2:
                continue
            # rotated by one, so that no sample keeps its own reference
            others = [*references[1:], references[0]]
            for (name, _), (_, answer) in zip(references, others, strict=True):
                drawn[name] = answer
        return answers


class _CountingBackend:
    """A backend that supports all kinds of media, only for counting calls. It is never
    called."""

    capabilities = Capabilities.of(PART_KINDS, PART_KINDS, "interleaved")
    provenance: Mapping[str, Any] = {}

    def __init__(self, name: str) -> None:
        self.identity = {"backend": name}

    async def generate(self, request: Request) -> Response:  # noqa: ARG002
        return Response.failed("internal", "calls are counted and not sent")

    async def close(self) -> None:
        """Does nothing, as there is nothing to close."""


class _ShuffledReferences:
    """Answers each sample with another sample's reference, as the backend ``reference``
    does."""

    capabilities = Capabilities.of(PART_KINDS, PART_KINDS, "interleaved")
    identity: Mapping[str, Any] = {"backend": "shuffled", "seed": SEED}
    provenance: Mapping[str, Any] = {}

    def __init__(self, answers: ReferenceAnswers) -> None:
        self._answers = answers
        # Any: a plugin may be any object
        self._reference: Any = plugins.load("mmeval.model_backends", "reference")()

    def answer(
        self, task: str, sample: Sample, repeat: int, request: Request
    ) -> Response:
        other = self._answers.get(task, {}).get(sample.id)
        references = () if other is None else (other,)
        changed = replace(sample, references=references)
        response: Response = self._reference.answer(task, changed, repeat, request)
        return response

    async def close(self) -> None:
        """Does nothing, as there is nothing to close."""


def _of_task(
    task: Task, results_by_kind: Mapping[Which, Sequence[Result]], *, only_one: bool
) -> Iterator[Bounds]:
    for task_metric in task.metrics:
        metric = task_metric.bound.metric
        for output in metric.outputs:
            of_output: dict[Which, Result] = {}
            for which, results in results_by_kind.items():
                for result in results:
                    if (result.task, result.metric) == (task.name, output):
                        of_output[which] = result
            yield Bounds(
                task=task,
                metric=output,
                higher_is_better=metric.higher_is_better,
                judged=metric.judged,
                reference_free=metric.reference_free,
                range=metric.range_for(output),
                results={} if task_metric.unavailable else of_output,
                unavailable=task_metric.unavailable,
                only_one=only_one,
            )


@contextmanager
def _hushed() -> Iterator[None]:
    """Logs only errors, and warnings about roles that do not answer. Other warnings
    would repeat earlier warnings."""
    levels = {
        "mmeval": logging.ERROR,
        **dict.fromkeys(WARNING_LOGGERS, logging.WARNING),
    }
    before = {name: logging.getLogger(name).level for name in levels}
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
