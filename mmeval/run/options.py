"""The options of a run, which the command line, a file or Python sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.aggregate.statistics import BOOTSTRAP_ITERS
from mmeval.backend.agent.limits import MAX_CALLS, AnswerLimits
from mmeval.backend.batch_size import AUTO, BatchSize
from mmeval.backend.probe import Probe, Probing
from mmeval.broker.checks.patience import PATIENCE
from mmeval.broker.cluster.engine import RayEngine
from mmeval.dataset.sampling import Subset
from mmeval.findings.finding import Finding
from mmeval.metric.device import AUTO as AUTO_DEVICE
from mmeval.metric.scoring.verdict_log import JudgeVersion
from mmeval.records.score import Result
from mmeval.run.costs.prices import Bill
from mmeval.store.answer_draw import AnswerDraw
from mmeval.store.paths import TrialFilter
from mmeval.store.shard import Shard
from mmeval.task.task import Selection, TaskOverrides

if TYPE_CHECKING:
    from mmeval.backend.contract import AnyBackend
    from mmeval.store.seal import Seal


REASONING_TAGS = ("<think>", "</think>")


@dataclass(frozen=True)
class BackendSpec:
    """The name and arguments of a backend.

    Equal specs share one instance. ``instance`` is an existing backend, which only
    Python code can pass. ``words`` are the words of an agent's prompts (``--prompts``).
    """

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    instance: AnyBackend | None = None
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class ScoringOptions:
    """The options of scoring. Each field corresponds to the flag of the same name."""

    roles: Mapping[str, BackendSpec] = field(default_factory=dict)
    max_connections: int = 64
    retry_on_error: int = 5
    budget_usd: float | None = None
    """Limit of the run folder's spending in US dollars, over all roles and sessions;
    None for no limit."""
    budget_tokens: int | None = None
    budget_calls: int | None = None
    model_cost_config: Path | None = None
    """File with the user's prices, which override those of mmeval."""
    max_calls_per_answer: int = MAX_CALLS
    """Maximum number of calls that an agent makes for one answer."""
    max_tokens_per_answer: int | None = None
    score_workers: int = 1
    engine: RayEngine | None = None
    """The cluster that runs local models and scoring; None for this machine."""
    metric_device: str = AUTO_DEVICE
    """The device of metrics' models."""
    probe: Probing = "auto"
    judge_patience: int = PATIENCE
    """Number of first verdicts of a metric that may be unreadable; 0 for any number."""
    strict: bool = False
    max_unscored: float = 0.0
    bootstrap_iters: int = BOOTSTRAP_ITERS
    """Number of bootstrap resamples for results whose standard error has no formula.

    With 0, such results have no standard error.
    """

    @property
    def answer_limits(self) -> AnswerLimits:
        return AnswerLimits(self.max_calls_per_answer, self.max_tokens_per_answer)


@dataclass(frozen=True)
class RunOptions(ScoringOptions):
    """The options of a run, without its tasks.

    Each field corresponds to the flag of the same name.
    """

    model: BackendSpec
    output_path: Path
    run_id: str = ""
    """Name of the run folder; empty for ``default``.

    The same command continues this run.
    """
    model_tag: str = ""
    fresh: bool = False
    seed: int = 0
    limit: float | None = None
    """Number of samples per task, or a share of the data set if below 1."""
    offset: int = 0
    samples: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    sample_shuffle: int | None = None
    """Seed of a random draw of ``limit`` samples; None for the first samples."""
    stratify: tuple[str, ...] = ()
    """Labels whose values are drawn in proportion to their frequency."""
    shard: Shard | None = None
    """The shard of the chosen samples, which has its own folder; None for all."""
    batch_size: BatchSize = AUTO
    """Maximum size of a micro-batch of local models."""
    use_cache: Path | None = None
    reasoning_tags: tuple[str, str] | None = REASONING_TAGS
    predict_only: bool = False
    command: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """All flags as in a configuration file, with secrets hidden.

    The run records them.
    """

    @property
    def chooses_samples(self) -> bool:
        """True if a flag selects some of the samples of a task."""
        by_count = self.limit is not None or self.offset > 0
        by_draw = self.sample_shuffle is not None or bool(self.stratify)
        return by_count or by_draw or bool(self.samples)


@dataclass(frozen=True)
class RescoreOptions(ScoringOptions):
    """The options of ``mmeval score``.

    ``overrides`` may change switches, profile and skipped metrics. ``metrics`` are the
    metrics to compute; empty for the metrics of the run. A metric that no task of the
    run lists is added to all tasks.
    """

    folder: Path
    metrics: tuple[str, ...] = ()
    overrides: TaskOverrides = field(default_factory=TaskOverrides)
    roles_of_run: Mapping[str, BackendSpec] = field(default_factory=dict)
    """The recorded roles of the run, with secrets hidden. ``roles`` replaces them."""
    draw: AnswerDraw | None = None
    """The random draw of answers to score; None for all answers."""
    indices: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The indices of the samples to score, by task. Of other tasks, all are scored."""


@dataclass(frozen=True)
class RunCounts:
    """Numbers of trials of a run.

    ``kept`` trials were answered by an earlier process. The oldest of these answers
    arrived at the local time ``since``.
    """

    kept: int = 0
    new: int = 0
    failed: int = 0
    unsupported: int = 0
    unscored: int = 0
    since: str = ""

    @property
    def none_asked(self) -> bool:
        """True if no trial could be asked."""
        return self.unsupported > 0 and not self.kept + self.new + self.failed


@dataclass(frozen=True)
class UnfinishedTask:
    """The progress of a task with missing trials: ``made`` of ``of`` trials exist.

    ``of`` is None if a filter chooses the samples and they were not counted.
    """

    made: int
    of: int | None


@dataclass(frozen=True)
class PublishedFiles:
    """The results file and the page of an outcome; ``page`` is None without a page."""

    results: Path
    page: Path | None


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run: its folder, numbers, findings and exit code."""

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
    """The filter of the run's trials, by task.

    Its folder may contain further trials.
    """
    rows: Mapping[str, int] = field(default_factory=dict)
    """The number of samples in the data set, by task."""
    subsets: Mapping[str, Subset] = field(default_factory=dict)
    """The subset of samples that were taken, by task.

    Tasks with all samples are left out.
    """
    unfinished: Mapping[str, UnfinishedTask] = field(default_factory=dict)
    """The tasks with missing trials. In a finished run, these are only tasks whose data
    cannot be read to the end."""
    roles: Mapping[str, BackendSpec] = field(default_factory=dict)
    """The roles besides the model."""
    score_sets: Mapping[str, Path] = field(default_factory=dict)
    """The folder of the score rows, by task."""
    bills: tuple[Bill, ...] = ()
    """Usage and cost of the run folder, by role and model, over all sessions."""
    judges: Mapping[str, list[JudgeVersion]] = field(default_factory=dict)
    """All versions of judges that produced scores, by task."""
    left_aside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The metrics of the run that this scoring left out, by task."""
    metric_device: str = ""
    """The device of metrics' models; empty if no model was loaded."""
    handshakes: Mapping[str, Sequence[Probe]] = field(default_factory=dict)
    """The results of the handshake of each role, by role."""
    agent_prompts: Sequence[Mapping[str, Any]] = ()
    """The records of the agents' prompts, without texts."""
    findings: tuple[Finding, ...] = ()
    """The findings of the run."""
    seal: Seal | None = None
    """The seal with which the outcome may be kept (``mmeval.run.kept``); None if the
    same command must read the run again."""
    published: PublishedFiles | None = None
    """The files of the earlier session whose kept outcome this is."""

    @property
    def table_findings(self) -> tuple[Finding, ...]:
        """The findings to show with the table.

        These findings concern unsupported trials and limits of the numbers.
        """
        shown = []
        for finding in self.findings:
            is_note = finding.severity == "note"
            is_about_numbers = finding.kind in _ABOUT_NUMBERS and is_note
            if is_about_numbers or finding.kind == "unsupported":
                shown.append(finding)
        return tuple(shown)


_ABOUT_NUMBERS = (
    "not_comparable",
    "other_definition",
    "subset",
    "refused",
    "partial",
)
