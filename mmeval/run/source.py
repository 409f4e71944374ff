"""Interfaces between the runner and its trials.

A source is created before anything is written or sent, and raises the errors of a run
that cannot start. Then the runner calls its methods in the order of their definition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mmeval.backend.batch_size import BatchSize
from mmeval.broker.broker import Broker
from mmeval.dataset.sampling import Subset
from mmeval.findings.finding import Finding
from mmeval.metric.scoring.scorer import Scorer
from mmeval.metric.scoring.trial_rows import ScoringPlan
from mmeval.run.backends import Backends
from mmeval.run.costs.prices import Prices
from mmeval.run.interrupt import Stoppable
from mmeval.run.options import BackendSpec, RunCounts, UnfinishedTask
from mmeval.run.progress import Progress, RunTally
from mmeval.run.suspension import Suspension
from mmeval.run.task_run import TaskRun
from mmeval.store.journal import Journal
from mmeval.store.paths import TrialFilter
from mmeval.store.run_folder import RunFolder
from mmeval.task.task import Task


@dataclass(frozen=True)
class OpenRun:
    """An open run folder with its broker, tasks and scorer.

    ``scorer`` is None if nothing is scored.
    """

    folder: RunFolder
    broker: Broker
    tasks: Sequence[TaskRun]
    scorer: Scorer | None
    progress: Progress

    @property
    def metric_device(self) -> str:
        """The device of metrics' models; empty if no model was loaded."""
        return "" if self.scorer is None else self.scorer.device_of_models()


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """The facts about finished trials that the outcome of a run needs."""

    chosen: Mapping[str, TrialFilter]
    """The filter of the trials that the numbers include, by task."""
    again: str
    """The command that scores the remaining trials."""
    losses: tuple[Finding, ...]
    """Findings for trials without an answer."""
    answer_notes: tuple[Finding, ...]
    """Further findings about the answers."""
    subsets: Mapping[str, Subset]
    unfinished: Mapping[str, UnfinishedTask]
    left_aside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    metric_device: str | None = None
    """The device of metrics' models if another process loaded them, else None."""


class TrialsRun(Protocol):
    """Makes, judges and scores the trials of a run."""

    @property
    def work(self) -> Stoppable:
        """The work that a user or a spent budget can stop."""

    @property
    def tally(self) -> RunTally: ...

    @property
    def suspension(self) -> Suspension: ...

    async def run(self) -> None:
        """Scores every trial. Raises the first error that ends the run."""

    def so_far(self) -> str:
        """Returns the progress of the run, which the error of a spent budget states."""

    def conclude(self) -> Conclusion:
        """Records in the folder that ``run`` has ended."""


class TrialSource(Protocol):
    """The source of a run's trials: new trials, or recorded trials of a folder."""

    backends: Backends
    roles: Mapping[str, BackendSpec]
    """The roles besides the model."""
    data: Mapping[str, Mapping[str, Any]]
    """The record of the data, by task."""
    others: Sequence[Path]
    """Other run folders whose answers this run reuses."""
    makes_trials: bool
    most_trials: int | None
    """An upper limit of the number of trials; None if it is not known yet."""
    batch_size: BatchSize

    def key(self, prices: Prices) -> str:
        """Returns the key of the outcome (:mod:`mmeval.run.kept`).

        The key is empty if the outcome cannot be kept.
        """

    def reuse(self, counts: RunCounts) -> None:
        """Reports that the kept outcome of an earlier session is used.

        No other method is called after it.
        """

    def claim(self) -> RunFolder:
        """Opens and locks the run folder.

        Raises RunLockedError, and IdentityChangedError if one of ``others`` contains
        answers of another model.
        """

    def open(self, folder: RunFolder, journal: Journal) -> Broker:
        """Records this session in the folder, and creates the broker without roles.

        Raises IdentityChangedError if the model or its settings changed.
        """

    def task_run(self, task: Task, plan: ScoringPlan) -> TaskRun:
        """Returns a task in the folder, with its score set."""

    def begin(self, run: OpenRun) -> TrialsRun: ...
