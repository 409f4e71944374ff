"""Bounds of tasks: what their metrics give for the right answers, for those of other samples, and for none.

A metric that gives the answers of other samples as much as the right ones measures nothing that an answer says. The
three are ordinary runs in a folder that is removed afterwards, over at most so many samples of a task, each asked once.
"""

from __future__ import annotations

import logging
import math
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mmeval import plugins
from mmeval.backend.capabilities import Capabilities
from mmeval.content.parts import PART_KINDS, Interleaved
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import Sample
from mmeval.records.score import Result
from mmeval.report.progress_bar import Quiet
from mmeval.run.jobs import Plan
from mmeval.run.options import BackendSpec, RunOptions, RunOutcome
from mmeval.scoring.score_set import finished_rows
from mmeval.store.media_store import MediaStore
from mmeval.task.task import Selection, Task

LIMIT = 200
"""Samples of a task, unless the user says otherwise."""
SEED = 7
"""Of the draw that gives each sample another one's reference."""
ENOUGH = 20
"""From so many scored samples on the standard errors of two numbers are taken into account."""

Which = Literal["reference", "shuffled", "empty"]
Answers = Mapping[str, Mapping[str, Interleaved]]
"""By task and by the id of a sample, an answer."""


TOLD_ALL_THE_SAME = ("mmeval.broker.outage", "mmeval.run.judging")
"""Loggers that are heard while the bounds are made: a role that does not answer is waited for."""


class Doubt(NamedTuple):
    """What the bounds of a number say against it. It is ``wrong`` where the answers of other samples are clearly
    better than the right ones (the direction of the metric, or the references, cannot be meant), and where the right
    answers were given no number."""

    message: str
    wrong: bool = False


@dataclass(frozen=True)
class Bounds:
    """One number of a task for the right answers, for shuffled ones and for none; ``unavailable`` says why there is
    no number at all."""

    task: Task
    metric: str
    higher_is_better: bool
    results: Mapping[Which, Result] = field(default_factory=dict)
    unavailable: str = ""
    only_one: bool = False
    """Fewer than two samples have a reference, so that there is nothing to shuffle."""
    lost: Mapping[Which, str] = field(default_factory=dict)
    """The most frequent reason why answers have no score; a kind of which all have one is left out."""
    judged: bool = False
    reference_free: bool = False
    """It looks at the answer alone: what it gives to those of other samples says nothing."""
    range: tuple[float, float] = (-math.inf, math.inf)
    """Between which values the number lies."""

    def value(self, which: Which) -> float | None:
        result = self.results.get(which)
        return None if result is None else result.value

    def doubts(self) -> Iterator[Doubt]:
        """Why the number is of no use for telling models apart."""
        right = self.results.get("reference")
        if right is not None and right.value is None and (asked := _applicable(right)):
            reason = _SUSPENDED if right.suspended else self.lost.get("reference", "")
            yield Doubt(f"{self.metric} scored {right.scored:,} of {asked:,} references: {reason}", wrong=True)
            return
        yield from self._lost_verdicts()
        shuffled = None if self.reference_free else self._margin("shuffled")
        empty = self._margin("empty")
        if shuffled is not None and shuffled < -self._noise("shuffled"):
            yield Doubt(f"{self.metric} gives {self._told('shuffled')}: look at its higher_is_better", wrong=True)
        elif shuffled is not None and shuffled <= self._noise("shuffled"):
            yield Doubt(f"{self.metric} cannot tell the right answers from shuffled ones: {self._told('shuffled')}")
        if empty is not None and empty <= self._noise("empty"):
            yield Doubt(f"{self.metric} cannot tell the right answers from empty ones: {self._told('empty')}")

    def _lost_verdicts(self) -> Iterator[Doubt]:
        """What a judge was asked about and gave no score."""
        for which, result in self.results.items():
            asked = _applicable(result)
            if self.judged and (lost := asked - result.scored):
                reason = _SUSPENDED if result.suspended else self.lost.get(which, "")
                yield Doubt(f"{self.metric} gave {lost:,} of {asked:,} {_ANSWERS[which]} no score: {reason}")

    def _margin(self, other: Which) -> float | None:
        """By how much the right answers are better than others; None where one of the numbers is missing."""
        right, wrong = self.value("reference"), self.value(other)
        if right is None or wrong is None:
            return None
        return right - wrong if self.higher_is_better else wrong - right

    def _noise(self, other: Which) -> float:
        """Two standard errors of the difference where there are enough samples, else nothing."""
        pair = (self.results["reference"], self.results[other])
        if min(result.scored for result in pair) < ENOUGH:
            return 0.0
        return 2 * math.hypot(*(result.stderr or 0.0 for result in pair))

    def _told(self, other: Which) -> str:
        return f"{self.value('reference'):.4f} to the references, {self.value(other):.4f} to {_WHOSE[other]}"


def _applicable(result: Result) -> int:
    """Answers that a metric could have said something of."""
    return result.n - result.unsupported - result.inapplicable


_WHOSE: Mapping[Which, str] = {
    "shuffled": "the references of other samples",
    "empty": "empty answers",
}
_ANSWERS: Mapping[Which, str] = {"reference": "references", "shuffled": "shuffled references", "empty": "empty answers"}


def judge_calls(tasks: Sequence[Task], roles: Mapping[str, BackendSpec], limit: int | None = None) -> dict[str, int]:
    """By role, the calls that metrics make to score one model's answers to every sample; with a ``limit``, one answer
    to each of the first samples of a task.

    They are counted on stand-ins for answers, so that a metric that asks because of an answer's content may ask
    otherwise. Nothing is sent, and no backend of a role is made.
    """
    if not any(metric.bound.metric.judged and not metric.unavailable for task in tasks for metric in task.metrics):
        return {}
    from mmeval.forecast.dry_run import forecast

    tasks = tasks if limit is None else _asked_once(tasks)
    nobody = {role: BackendSpec(role, instance=_Nobody(role)) for role in roles}
    with _workplace() as folder:
        options = RunOptions(BackendSpec("model", instance=_Nobody("model")), folder, roles=nobody, limit=limit)
        found = forecast(Selection(tuple(tasks)), options)
    calls: dict[str, float] = {}
    for role, load in ((role, load) for task in found.tasks for role, load in task.loads.items() if role in roles):
        calls[role] = calls.get(role, 0) + load.calls + load.equal
    return {role: round(count) for role, count in calls.items()}


def measure(tasks: Sequence[Task], roles: Mapping[str, BackendSpec], *, limit: int = LIMIT) -> list[Bounds]:
    """The bounds of every number of tasks, in their order. Numbers that cannot be computed here are listed with the
    reason. Metrics that ask a role ask it for each of the three, until it does not answer any more; the data of the
    tasks must be sound.

    Raises what a run raises: MissingError for a key that a role lacks, UsageError for what cannot be asked so.
    """
    once = _asked_once(tasks)
    if not once:
        return []
    with _workplace() as folder:
        answers = shuffled_answers(once, limit=limit)
        models: dict[Which, BackendSpec] = {
            "reference": BackendSpec("reference"),
            "shuffled": BackendSpec("shuffled", instance=_Shuffled(answers)),
            "empty": BackendSpec("empty"),
        }
        found: dict[Which, list[Result]] = {}
        lost: dict[tuple[str, str], dict[Which, str]] = {}
        for which, model in models.items():
            outcome = _run(once, RunOptions(model, folder, run_id=which, roles=roles, limit=limit))
            found[which] = [result for result in outcome.results if not result.slice]
            for number, reason in _reasons(outcome).items():
                lost.setdefault(number, {})[which] = reason
            if any(result.suspended for result in found[which]):
                break  # the others would wait for the same role, as long again
    return [
        replace(bounds, lost=lost.get((task.name, bounds.metric), {}))
        for task in once
        for bounds in _of_task(task, found, only_one=not answers[task.name])
    ]


_SUSPENDED = "whom it asks did not answer any more; with --bounds false nobody is asked"


def _reasons(outcome: RunOutcome) -> dict[tuple[str, str], str]:
    """By task and number, the most frequent reason why a trial has no score."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for task, folder in outcome.score_sets.items():
        for row in finished_rows(folder, lambda _index, _repeat: True):
            for output, score in row["scores"].items():
                if score["status"] == "unscored":
                    found.setdefault((task, output), Counter())[str(score["reason"])] += 1
    return {number: reasons.most_common(1)[0][0] for number, reasons in found.items()}


def _asked_once(tasks: Sequence[Task]) -> tuple[Task, ...]:
    return tuple(replace(task, repeats=1) for task in tasks)


def shuffled_answers(tasks: Sequence[Task], *, limit: int = LIMIT) -> dict[str, dict[str, Interleaved]]:
    """By task, for each sample that can be asked and has a reference the reference of another one, drawn by
    :data:`SEED`. Empty for a task with fewer than two of them."""
    with _workplace() as folder:
        plan = Plan(tuple(tasks), RunOptions(BackendSpec("reference"), folder, limit=limit), MediaStore(folder))
        return {
            task.name: _exchanged(sample for _, sample in plan.samples(position)) for position, task in enumerate(tasks)
        }


def _exchanged(samples: Iterable[Sample]) -> dict[str, Interleaved]:
    """Each sample with the reference of another: one cycle through all of them, so that nobody keeps its own."""
    given = [(sample.id, sample.references[0]) for sample in samples if sample.references and not sample.fault]
    if len(given) < 2:
        return {}
    random.Random(SEED).shuffle(given)
    return {name: answer for (name, _), (_, answer) in zip(given, [*given[1:], given[0]], strict=True)}


class _Nobody:
    """A model that takes and gives everything, and that is counted on but never asked."""

    capabilities = Capabilities.of(PART_KINDS, PART_KINDS, "interleaved")
    provenance: Mapping[str, Any] = {}

    def __init__(self, name: str) -> None:
        self.identity = {"backend": name}

    async def generate(self, request: Request) -> Response:  # noqa: ARG002
        return Response.failed("internal", "nobody answers while calls are counted")

    async def close(self) -> None:
        """Nothing is held open."""


class _Shuffled:
    """Answers each sample as ``reference`` does, with another sample's reference."""

    capabilities = Capabilities.of(PART_KINDS, PART_KINDS, "interleaved")
    identity: Mapping[str, Any] = {"backend": "shuffled", "seed": SEED}
    provenance: Mapping[str, Any] = {}

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        # Any: a plugin is whatever its package registers.
        self._reference: Any = plugins.load("mmeval.model_backends", "reference")()

    def answer(self, task: str, sample: Sample, repeat: int, request: Request) -> Response:
        other = self._answers.get(task, {}).get(sample.id)
        references = () if other is None else (other,)
        found: Response = self._reference.answer(task, replace(sample, references=references), repeat, request)
        return found

    async def close(self) -> None:
        """Nothing is held open."""


class _Silent(Quiet):
    """Says nothing of its progress: what comes of it is one row of a table."""

    def note(self, text: str) -> None:
        pass


def _run(tasks: tuple[Task, ...], options: RunOptions) -> RunOutcome:
    from mmeval.run.runner import run

    with _hushed():
        return run(Selection(tasks), options, progress=_Silent())


def _of_task(task: Task, found: Mapping[Which, Sequence[Result]], *, only_one: bool) -> Iterator[Bounds]:
    for metric in task.metrics:
        for output in metric.bound.metric.outputs:
            yield Bounds(
                task=task,
                metric=output,
                higher_is_better=metric.bound.metric.higher_is_better,
                judged=metric.bound.metric.judged,
                reference_free=metric.bound.metric.reference_free,
                range=metric.bound.metric.range,
                results={} if metric.unavailable else _results(task.name, output, found),
                unavailable=metric.unavailable,
                only_one=only_one,
            )


def _results(task: str, output: str, found: Mapping[Which, Sequence[Result]]) -> dict[Which, Result]:
    return {which: result for which, results in found.items() for result in results if _is_of(result, task, output)}


def _is_of(result: Result, task: str, output: str) -> bool:
    return (result.task, result.metric) == (task, output)


@contextmanager
def _workplace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mmeval-bounds-") as folder:
        yield Path(folder)


@contextmanager
def _hushed() -> Iterator[None]:
    """Let the log tell errors, and whom nobody answers: what else a run warns of was found by the checks before it, or
    stands in the table."""
    wanted = {"mmeval": logging.ERROR, **dict.fromkeys(TOLD_ALL_THE_SAME, logging.WARNING)}
    before = {name: logging.getLogger(name).level for name in wanted}
    for name, level in wanted.items():
        logging.getLogger(name).setLevel(level)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
