"""What a run is to do, as a record: command line, file and Python all make one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.aggregate.statistics import BOOTSTRAP_ITERS
from mmeval.backend.agent.limits import MAX_CALLS, AnswerLimits
from mmeval.backend.batch_size import AUTO, BatchSize
from mmeval.broker.cluster.engine import RayEngine
from mmeval.dataset.sampling import Subset
from mmeval.findings.finding import Finding
from mmeval.metric.device import AUTO as AUTO_DEVICE
from mmeval.metric.scoring.verdict_log import Served
from mmeval.records.score import Result
from mmeval.run.costs.prices import Bill
from mmeval.store.paths import TrialFilter
from mmeval.store.shard import Shard
from mmeval.task.task import Selection, TaskOverrides

if TYPE_CHECKING:
    from mmeval.backend.contract import AnyBackend


REASONING_TAGS = ("<think>", "</think>")


@dataclass(frozen=True)
class BackendSpec:
    """A backend by name and arguments; equal specs share one instance.
    ``instance`` is one that was made already, which only Python can give."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    instance: AnyBackend | None = None


@dataclass(frozen=True, kw_only=True)
class ScoringOptions:
    """How answers are scored, and at what cost. Each field is the flag of its name."""

    roles: Mapping[str, BackendSpec] = field(default_factory=dict)
    max_connections: int = 64
    retry_on_error: int = 5
    budget_usd: float | None = None
    """What the run folder may spend in all, over all roles and sessions; None: as much
    as it takes."""
    budget_tokens: int | None = None
    budget_calls: int | None = None
    model_cost_config: Path | None = None
    """The user's prices, over ours."""
    max_calls_per_answer: int = MAX_CALLS
    """Calls of one answer of an agent."""
    max_tokens_per_answer: int | None = None
    score_workers: int = 1
    engine: RayEngine | None = None
    """The cluster that answers batches and scores; None: processes of this machine."""
    metric_device: str = AUTO_DEVICE
    """Where the models of metrics go."""
    strict: bool = False
    max_unscored: float = 0.0
    bootstrap_iters: int = BOOTSTRAP_ITERS
    """Resamples for a number whose standard error has no formula; 0 leaves it
    without."""

    @property
    def answer_limits(self) -> AnswerLimits:
        return AnswerLimits(self.max_calls_per_answer, self.max_tokens_per_answer)


@dataclass(frozen=True)
class RunOptions(ScoringOptions):
    """The options of a run besides its tasks. Each field is the flag of the same
    name."""

    model: BackendSpec
    output_path: Path
    run_id: str = ""
    """Empty: ``default``, so that the same command finds its own folder again."""
    model_tag: str = ""
    fresh: bool = False
    seed: int = 0
    limit: float | None = None
    """Samples a task: a count, or below 1 a share of the data set."""
    offset: int = 0
    samples: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    sample_shuffle: int | None = None
    """The seed of a draw: ``limit`` takes samples at random, and not from the
    beginning."""
    stratify: tuple[str, ...] = ()
    """Labels over whose values a draw is spread evenly."""
    shard: Shard | None = None
    """The part of the chosen samples that is asked, in a folder of its own; None: all
    of them."""
    batch_size: BatchSize = AUTO
    """Upper limit of a micro-batch for local models."""
    use_cache: Path | None = None
    reasoning_tags: tuple[str, str] | None = REASONING_TAGS
    predict_only: bool = False
    command: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """All flags as a configuration file has them, secrets hidden: recorded, so that a
    later report can show them."""

    @property
    def chooses_samples(self) -> bool:
        """Whether a flag chooses among the samples of a task."""
        by_count = self.limit is not None or self.offset > 0
        by_draw = self.sample_shuffle is not None or bool(self.stratify)
        return by_count or by_draw or bool(self.samples)


@dataclass(frozen=True)
class RescoreOptions(ScoringOptions):
    """What ``mmeval score`` is to do. ``overrides`` may change switches, profile and
    skipped metrics. ``metrics`` are the only ones to compute (empty: those of the run);
    one that no task of the run lists is added to all of its tasks."""

    folder: Path
    metrics: tuple[str, ...] = ()
    overrides: TaskOverrides = field(default_factory=TaskOverrides)
    roles_of_run: Mapping[str, BackendSpec] = field(default_factory=dict)
    """The roles of the run when it was made, secrets hidden: each is asked unless
    ``roles`` names another backend."""


@dataclass(frozen=True)
class RunCounts:
    """Trials of a run. ``kept`` were answered by an earlier process, ``since`` (ISO
    time) says when it began."""

    kept: int = 0
    new: int = 0
    failed: int = 0
    unsupported: int = 0
    unscored: int = 0
    since: str = ""

    @property
    def none_asked(self) -> bool:
        """Whether not a single trial could be asked."""
        return self.unsupported > 0 and not self.kept + self.new + self.failed


@dataclass(frozen=True)
class UnfinishedTask:
    """How far a run has come with a task whose trials are not all made.
    ``of`` is None where a filter chooses and what it keeps was not counted."""

    made: int
    of: int | None


@dataclass(frozen=True)
class RunOutcome:
    """What came of a run: its folder, its numbers, and the true exit code."""

    folder: Path
    model_name: str
    selection: Selection
    results: tuple[Result, ...]
    group_results: tuple[Result, ...]
    counts: RunCounts
    started: str
    seconds: float
    exit_code: int
    chosen: Mapping[str, TrialFilter] = field(default_factory=dict)
    """By task, whether a sample's index in a repeat belongs to the run: its folder may
    hold more."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """By task, how many samples its data set has, chosen or not."""
    subsets: Mapping[str, Subset] = field(default_factory=dict)
    """By task, what part of its samples stands behind the numbers; one whose samples
    were all taken is left out."""
    unfinished: Mapping[str, UnfinishedTask] = field(default_factory=dict)
    """The tasks of which trials are still to be made; a run that came to its end has
    only those whose data could not be read to theirs."""
    roles: Mapping[str, BackendSpec] = field(default_factory=dict)
    """Who was asked besides the model."""
    score_sets: Mapping[str, Path] = field(default_factory=dict)
    """Where the score rows of each task lie."""
    bills: tuple[Bill, ...] = ()
    """What the calls of the run folder have used and cost, by role and model, over all
    its sessions."""
    judges: Mapping[str, list[Served]] = field(default_factory=dict)
    """By task, every version of a judge whose verdicts stand behind its scores."""
    left_aside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By task, the metrics of the run that a later scoring was not asked for: its
    results are without them."""
    metric_device: str = ""
    """Where the models of metrics were; empty where none was loaded."""
    findings: tuple[Finding, ...] = ()
    """What was lost in the run, and what else there is to know of its answers."""

    @property
    def table_findings(self) -> tuple[Finding, ...]:
        """What a reader of the numbers has to know: the trials that the model could not
        be asked, and what else the numbers are not."""
        shown = []
        for finding in self.findings:
            is_note = finding.severity == "note"
            is_about_numbers = finding.kind in _ABOUT_NUMBERS and is_note
            if is_about_numbers or finding.kind == "unsupported":
                shown.append(finding)
        return tuple(shown)


_ABOUT_NUMBERS = ("not_comparable", "subset", "refused", "partial")
