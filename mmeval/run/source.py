"""The two sides of a run: where its trials come from, and what is done with them.

A source is made before anything is written or sent: what would refuse the run is raised
then. After that the runner asks it four things, in the order of its methods.
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
from mmeval.run.interrupt import Stoppable
from mmeval.run.options import BackendSpec, UnfinishedTask
from mmeval.run.progress import Progress, RunTally
from mmeval.run.suspension import Suspension
from mmeval.run.task_run import TaskRun
from mmeval.store.journal import Journal
from mmeval.store.paths import TrialFilter
from mmeval.store.run_folder import RunFolder
from mmeval.task.task import Task


@dataclass(frozen=True)
class OpenRun:
    """A run folder at work: what is asked, and who scores; ``scorer`` is None when
    nothing is scored."""

    folder: RunFolder
    broker: Broker
    tasks: Sequence[TaskRun]
    scorer: Scorer | None
    progress: Progress

    @property
    def metric_device(self) -> str:
        """Where the models of metrics are; empty where none was loaded."""
        return "" if self.scorer is None else self.scorer.device_of_models()


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What a source knows of its trials when they are done."""

    chosen: Mapping[str, TrialFilter]
    """By task, which trials of the folder count."""
    again: str
    """The command that scores the rest."""
    losses: tuple[Finding, ...]
    """The trials without an answer."""
    answer_notes: tuple[Finding, ...]
    """What else there is to know of the answers."""
    subsets: Mapping[str, Subset]
    unfinished: Mapping[str, UnfinishedTask]
    left_aside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    metric_device: str | None = None
    """Where the models of metrics were, if not where this process has them."""


class TrialsRun(Protocol):
    """The trials of a run while they are made, judged and scored."""

    @property
    def work(self) -> Stoppable:
        """What a user or a spent budget stops."""

    @property
    def tally(self) -> RunTally: ...

    @property
    def suspension(self) -> Suspension: ...

    async def run(self) -> None:
        """Score every trial. Raises the first error that concerns the whole run."""

    def so_far(self) -> str:
        """How far the run has come, where its budget is spent."""

    def conclude(self) -> Conclusion:
        """Note in the folder that ``run`` has come to its end."""


class TrialSource(Protocol):
    """Where the trials of a run come from: they are made, or a folder has recorded
    them."""

    backends: Backends
    roles: Mapping[str, BackendSpec]
    """Who is asked besides the model."""
    data: Mapping[str, Mapping[str, Any]]
    """By task, what is recorded of its data."""
    others: Sequence[Path]
    """The run folders whose answers are known, too."""
    makes_trials: bool
    batch_size: BatchSize

    def claim(self) -> RunFolder:
        """The run folder, locked. Raises RunLockedError, and IdentityChangedError where
        one of the others has answers of another model."""

    def open(self, folder: RunFolder, journal: Journal) -> Broker:
        """Record in the folder what this process does there; the broker has no roles
        yet. Raises IdentityChangedError."""

    def task_run(self, task: Task, plan: ScoringPlan) -> TaskRun:
        """A task in the folder, with its score set."""

    def begin(self, run: OpenRun) -> TrialsRun: ...
