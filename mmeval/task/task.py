"""Tasks that can be run, their metrics, and groups of tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mmeval.dataset.contract import Dataset
from mmeval.errors import UsageError, written_instead
from mmeval.findings.finding import Finding
from mmeval.findings.render import causes
from mmeval.media.parts import PART_KINDS, Interleaved, PartKind
from mmeval.metric.bound import BoundMetric
from mmeval.program.calls import Program
from mmeval.program.protocols import Ask
from mmeval.records.request import GenerationParams
from mmeval.records.sample import Message, Sample
from mmeval.records.score import Refusals

_WANTED_KINDS = tuple(kind for kind in PART_KINDS if kind != "reasoning")


@dataclass(frozen=True)
class TaskOverrides:
    """Options of the command line that change the chosen tasks.

    The fields are named like the flags. None and empty values change nothing. ``data``
    is ``"bundled"`` or empty. ``gen_kwargs`` override ``generation_kwargs``.
    ``metric_args`` maps metrics to switches.
    """

    data: str = ""
    data_dir: Path | None = None
    gen_kwargs: Mapping[str, Any] = field(default_factory=dict)
    metric_args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    skip_metric: tuple[str, ...] = ()
    profile: str = ""
    repeats: int | None = None
    system_instruction: str = ""
    protocol: str = ""
    trust_remote_code: bool = False
    """True if the user allows downloaded code, such as a metric from the hub."""
    refusals: Refusals | Literal[""] = ""
    prompts: str = ""
    """The words of the prompts: ``own``, ``released``, or a folder with prompts.

    If it is empty, the words are our own.
    """
    agent_prompts: frozenset[str] = frozenset()
    """The prompts of the run's agents that ``prompts`` can replace."""
    judge_prompts: Path | None = None
    """A folder with prompts. These prompts replace the judges' prompts of the same
    names.
    """


@dataclass(frozen=True)
class TaskMetric:
    """An entry of ``metric_list``: a metric with its switches, and an aggregator.

    The aggregator ``aggregation`` computes one number from the scores. ``options`` are
    its options.
    """

    bound: BoundMetric
    aggregation: str = "mean"
    options: Mapping[str, Any] = field(default_factory=dict)
    lacks: tuple[Finding, ...] = ()
    """Findings about what the metric and its pieces lack; empty if it is available."""
    without: Mapping[str, Finding] = field(default_factory=dict)
    """The missing pieces of a derived metric and of its pieces, by name."""

    @property
    def name(self) -> str:
        return self.bound.name

    @property
    def unavailable(self) -> str:
        """Why it is unavailable, or an empty string if it is available."""
        return causes(self.lacks)


@dataclass(frozen=True)
class CombinedNumber:
    """An entry of ``numbers``: a combination of averages of the task's metrics."""

    name: str
    of: tuple[str, ...]
    """The outputs of the task's metrics that the number combines."""
    range: tuple[float, float]
    higher_is_better: bool = True
    combine: str = "mean"
    missing: Literal["skip", "inapplicable", "unknown"] = "unknown"
    """What to do if a part has no scores. ``skip``: combine the others.
    ``inapplicable``: combine them unless the part is unavailable. ``unknown``: the
    number has no value."""
    lacks: tuple[Finding, ...] = ()
    """The reasons why the number is unavailable; empty if it is available."""
    without: Mapping[str, Finding] = field(default_factory=dict)
    """The missing parts of the number, and the missing pieces of its parts, by name."""

    @property
    def unavailable(self) -> str:
        """Why it is unavailable, or an empty string if it is available."""
        return causes(self.lacks)


class ExpectedSize(NamedTuple):
    """The size of a task's data: ``rows`` before the filter, ``samples`` after it.

    None means that the task file does not state the number.
    """

    rows: int | None = None
    samples: int | None = None


UNSTATED = ExpectedSize()
"""The size of the data of a task whose file does not state the size."""


@dataclass(frozen=True)
class Task:
    """A task that can be run.

    ``config`` is the resolved task file as JSON. The run records this file, so that
    mmeval can detect a change of the task. ``prompt`` returns the messages for a
    sample. ``protocol`` returns the program that gets the answer. ``output_kinds``
    returns the kinds that the answer should have.
    """

    name: str
    alias: str
    version: str
    file: Path
    config: Mapping[str, Any]
    dataset: Callable[[], Dataset]
    prompt: Callable[[Sample], tuple[Message, ...]]
    protocol: Callable[[Ask], Program[Interleaved]]
    protocol_name: str
    output_kinds: Callable[[Sample], tuple[PartKind, ...]]
    params: GenerationParams
    metrics: tuple[TaskMetric, ...]
    numbers: tuple[CombinedNumber, ...] = ()
    protocol_prompts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Those options of the protocol that are prompts, as ``{name, sha256, text}``."""
    prompt_record: Mapping[str, str] = field(default_factory=dict)
    """The prompt that replaces that of the task's file, as ``{name, sha256, text}``;
    empty if the file's prompt is used."""
    given_options: frozenset[str] = frozenset()
    """The parameters of one modality that the command line sets. Those in ``params``
    that are not listed here come from the task file."""
    repeats: int = 1
    partial_output: bool = False
    """True if a model with only some of the output kinds is asked for those kinds.

    If False, its samples are unsupported."""
    blocks: bool = False
    """True if a model's answer is recorded as blocks
    (:meth:`mmeval.media.Interleaved.blocks`)."""
    missing_output: float | None = None
    """The score of an empty answer if the benchmark defines it. If None, the metrics
    score the empty answer."""
    refusals: Refusals = "scored"
    cluster_key: str = ""
    breakdown: tuple[str, ...] = ()
    filter: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    roles: Mapping[str, GenerationParams] = field(default_factory=dict)
    """The generation parameters of other roles, such as the judge, by role."""
    input_modalities: tuple[PartKind, ...] = ()
    """The kinds of parts in the samples; empty if the task file does not state them."""
    video_frames: int = 0
    """Number of evenly spaced frames that replace a video for a model without video
    input. If 0, samples with videos are unsupported."""
    first_picture: bool = False
    """True if a model that accepts a single picture gets the first picture. If False,
    samples with several pictures are unsupported."""
    source: Callable[[], Mapping[str, Any]] = dict
    """Returns the source of the data for the record: path, revision and commit."""
    layout: str = ""
    """The name of the layout of a paper's tables; see :mod:`mmeval.results.layout`."""
    expected: ExpectedSize = UNSTATED
    """The size of the data according to the task file."""
    uses_reference: bool = False
    """True if the prompt contains information from the reference."""
    comparable: bool = True
    """False if bundled samples or stand-ins of metrics make the result incomparable
    with published results."""

    @property
    def entries(self) -> tuple[TaskMetric | CombinedNumber, ...]:
        """The metrics, then the combined numbers."""
        return (*self.metrics, *self.numbers)

    @property
    def prompts(self) -> Iterator[Mapping[str, Any]]:
        """The prompts of the protocol and of the metrics, as ``{name, sha256, text}``.

        A prompt that replaces that of the task's file comes first. A released prompt
        also has its ids (``released``).
        """
        if self.prompt_record:
            yield self.prompt_record
        yield from self.protocol_prompts.values()
        for metric in self.metrics:
            yield from metric.bound.prompts.values()

    def selected(self, sample: Sample) -> bool:
        """Returns True if the ``filter`` keeps a sample.

        A sample with a fault may lack labels. Such a sample is kept if it may belong to
        the task.
        """
        return self.may_select(sample.metadata, unknown=bool(sample.fault))

    def may_select(self, labels: Mapping[str, Any], *, unknown: bool) -> bool:
        """Returns True if the ``filter`` keeps a sample with these labels.

        With ``unknown``, a missing label may have any value.
        """
        for key, allowed in self.filter.items():
            label = labels.get(key)
            if label is None and unknown:
                continue
            options = allowed if isinstance(allowed, list) else [allowed]
            if label not in options:
                return False
        return True


@dataclass(frozen=True)
class GroupMetric:
    """An entry of a group's ``aggregate_metric_list``."""

    metric: str
    weight_by_size: bool = False
    counts_absent: bool = False
    """True if an unsupported member counts as 0 (``absent: zero``). If False, it is
    left out."""


@dataclass(frozen=True)
class Group:
    """Tasks that are reported together; ``members`` are names of tasks and groups."""

    name: str
    alias: str
    members: tuple[str, ...]
    metrics: tuple[GroupMetric, ...] = ()
    version: str = ""
    layout: str = ""
    """The name of the layout of a paper's tables; see :mod:`mmeval.results.layout`."""


@dataclass(frozen=True)
class UnavailableTask:
    """A member of a group that is not run. ``finding`` states the reason."""

    name: str
    alias: str
    version: str
    finding: Finding


@dataclass(frozen=True)
class Selection:
    """The tasks that ``--tasks`` selects, without duplicates, and their groups.

    Outer groups come first. ``left_out`` are members of groups that are not run.
    """

    tasks: tuple[Task, ...]
    groups: tuple[Group, ...] = ()
    left_out: tuple[UnavailableTask, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Findings about what the command chooses, such as prompts that are not used."""

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)


@dataclass(frozen=True)
class FixedKinds:
    """A function that returns the listed ``output_modalities`` for all samples."""

    kinds: tuple[PartKind, ...]

    def __call__(
        self,
        sample: Sample,  # noqa: ARG002
    ) -> tuple[PartKind, ...]:  # the contract of Task.output_kinds
        return self.kinds


@dataclass(frozen=True)
class SampleKinds:
    """A function for ``per_sample``: it returns the kinds in a sample's metadata."""

    task: str

    def __call__(self, sample: Sample) -> tuple[PartKind, ...]:
        kinds = sample.metadata.get("output_modalities")
        kinds_of_sample = kinds if isinstance(kinds, list | tuple) else ()
        if not kinds_of_sample or not all(
            kind in _WANTED_KINDS for kind in kinds_of_sample
        ):
            instead = ""
            if "output_modalities" not in sample.metadata:
                instead = written_instead("output_modalities", sample.metadata)
            raise UsageError(
                f"task {self.task!r}, sample {sample.id!r}: output_modalities is "
                "per_sample, so output_modalities in the sample's metadata must be a "
                f"list of kinds of part, not {kinds!r}{instead}"
            )
        return tuple(kinds_of_sample)
