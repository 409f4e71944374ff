"""A runnable task, its metrics, and the groups that tasks are reported in."""

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
    """Changes of the command line to the chosen tasks, by fields named as flags.

    ``data`` is ``"bundled"`` or empty; ``gen_kwargs`` is merged over
    ``generation_kwargs``; ``metric_args`` maps a metric to switches; None and empty
    values change nothing.
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
    """The user's consent to run code that a task file names, such as a metric of the
    hub."""
    refusals: Refusals | Literal[""] = ""
    judge_prompts: Path | None = None
    """A folder of prompts that replace those of the same name."""


@dataclass(frozen=True)
class TaskMetric:
    """An entry of ``metric_list``: a metric with its switches, and how to aggregate.
    The aggregator has a name and options, and makes one number of the scores."""

    bound: BoundMetric
    aggregation: str = "mean"
    options: Mapping[str, Any] = field(default_factory=dict)
    lacks: tuple[Finding, ...] = ()
    """What keeps it from being computed here: its own needs and those of its pieces;
    empty when it can be computed."""
    without: Mapping[str, Finding] = field(default_factory=dict)
    """Of a derived metric: the pieces that it is computed without, and those that its
    own pieces are computed without."""

    @property
    def name(self) -> str:
        return self.bound.name

    @property
    def unavailable(self) -> str:
        """Why it cannot be computed here; empty when it can."""
        return causes(self.lacks)


@dataclass(frozen=True)
class CombinedNumber:
    """An entry of ``numbers``: a number that is made of averaged numbers of its
    task."""

    name: str
    of: tuple[str, ...]
    """Its parts: outputs of the task's metrics."""
    range: tuple[float, float]
    higher_is_better: bool = True
    combine: str = "mean"
    missing: Literal["skip", "inapplicable", "unknown"] = "unknown"
    """Where one part has nothing to be made of: ``skip`` makes it of the others,
    ``inapplicable`` only where that part could have been computed, ``unknown``
    never."""
    lacks: tuple[Finding, ...] = ()
    """What keeps it from being computed here; empty when it can be computed."""
    without: Mapping[str, Finding] = field(default_factory=dict)
    """The parts, and the pieces of these, that it is computed without."""

    @property
    def unavailable(self) -> str:
        """Why it cannot be computed here; empty when it can."""
        return causes(self.lacks)


class Expected(NamedTuple):
    """A task's ``rows`` before the filter, ``samples`` after it; None: not stated."""

    rows: int | None = None
    samples: int | None = None


UNSTATED = Expected()
"""The data's size is not stated."""


@dataclass(frozen=True)
class Task:
    """One runnable task.

    ``config`` is the resolved task file as JSON: it is recorded, and shows when a task
    has changed. ``prompt`` makes the messages of a sample, ``protocol`` the program
    that asks them. ``wanted`` gives the kinds of part that a sample's answer should
    have.
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
    wanted: Callable[[Sample], tuple[PartKind, ...]]
    params: GenerationParams
    metrics: tuple[TaskMetric, ...]
    numbers: tuple[CombinedNumber, ...] = ()
    protocol_prompts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The options of the protocol that are prompts, as ``{name, sha256, text}``."""
    given_options: frozenset[str] = frozenset()
    """The parameters of one modality that the command line gives; the others of
    ``params`` are the task file's."""
    repeats: int = 1
    partial_output: bool = False
    """Whether a model that gives only some of the wanted kinds is asked for those; else
    its samples are unsupported."""
    blocks: bool = False
    """Whether a model's answer is recorded as blocks
    (:meth:`mmeval.media.Interleaved.blocks`)."""
    missing_output: float | None = None
    """The score of an empty answer, where the benchmark defines one; None: the metric
    scores it like any other."""
    refusals: Refusals = "scored"
    cluster_key: str = ""
    breakdown: tuple[str, ...] = ()
    filter: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    roles: Mapping[str, GenerationParams] = field(default_factory=dict)
    """Generation parameters of other roles, such as the judge's, by name."""
    input_modalities: tuple[PartKind, ...] = ()
    """The kinds of part that samples hold; empty: not stated."""
    video_frames: int = 0
    """The even frames that a model without video gets of each video; 0: its samples are
    unsupported."""
    first_picture: bool = False
    """Whether a model that takes a single picture gets the first one; else its samples
    with several are unsupported."""
    source: Callable[[], Mapping[str, Any]] = dict
    """Where the data come from, for the record: path, revision and commit."""
    layout: str = ""
    """The tables of a paper that are printed of a run with this task; see
    :mod:`mmeval.results.layout`."""
    expected: Expected = UNSTATED
    """The size of the data as the task file states it."""
    uses_reference: bool = False
    """Whether its prompt states what the reference of a sample says."""
    comparable: bool = True
    """False for bundled samples and stand-ins of metrics: the result cannot be compared
    with a published number."""

    @property
    def given(self) -> tuple[TaskMetric | CombinedNumber, ...]:
        """What gives its numbers: the metrics, then what is made of their averages."""
        return (*self.metrics, *self.numbers)

    def selected(self, sample: Sample) -> bool:
        """Whether the ``filter`` keeps a sample: each label is as wanted, or in its
        list. A sample that cannot be asked may lack labels too. It is kept then, as it
        may belong here."""
        return self.may_select(sample.metadata, unknown=bool(sample.fault))

    def may_select(self, labels: Mapping[str, Any], *, unknown: bool) -> bool:
        """Whether the ``filter`` keeps a sample with these labels. ``unknown``: a label
        that is not among them may have any value."""
        for key, wanted in self.filter.items():
            label = labels.get(key)
            if label is None and unknown:
                continue
            options = wanted if isinstance(wanted, list) else [wanted]
            if label not in options:
                return False
        return True


@dataclass(frozen=True)
class GroupMetric:
    """One entry of a group's ``aggregate_metric_list``."""

    metric: str
    weight_by_size: bool = False
    counts_absent: bool = False
    """Whether a member that the model cannot do counts 0 (``absent: zero``); else it is
    left out."""


@dataclass(frozen=True)
class Group:
    """Tasks reported together; ``members`` are tasks and groups in the file's order."""

    name: str
    alias: str
    members: tuple[str, ...]
    metrics: tuple[GroupMetric, ...] = ()
    version: str = ""
    layout: str = ""
    """The tables of a paper that are printed of a run with this group; see
    :mod:`mmeval.results.layout`."""


@dataclass(frozen=True)
class UnavailableTask:
    """A member of a group that is not run; ``finding`` is what it lacks."""

    name: str
    alias: str
    version: str
    finding: Finding


@dataclass(frozen=True)
class Selection:
    """What ``--tasks`` selects: tasks to run, once each, and groups, outermost first.
    ``left_out`` are members of groups that are not run."""

    tasks: tuple[Task, ...]
    groups: tuple[Group, ...] = ()
    left_out: tuple[UnavailableTask, ...] = ()

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)


@dataclass(frozen=True)
class FixedKinds:
    """``output_modalities`` as a list: the same for every sample."""

    kinds: tuple[PartKind, ...]

    def __call__(
        self,
        sample: Sample,  # noqa: ARG002
    ) -> tuple[PartKind, ...]:  # the contract of Task.wanted
        return self.kinds


@dataclass(frozen=True)
class SampleKinds:
    """``output_modalities: per_sample``: the kinds in the metadata of the same name."""

    task: str

    def __call__(self, sample: Sample) -> tuple[PartKind, ...]:
        kinds = sample.metadata.get("output_modalities")
        wanted = kinds if isinstance(kinds, list | tuple) else ()
        if not wanted or not all(kind in _WANTED_KINDS for kind in wanted):
            instead = ""
            if "output_modalities" not in sample.metadata:
                instead = written_instead("output_modalities", sample.metadata)
            raise UsageError(
                f"task {self.task!r}, sample {sample.id!r}: output_modalities is "
                "per_sample, so the sample's metadata "
                "must name kinds of part under output_modalities, not "
                f"{kinds!r}{instead}"
            )
        return tuple(wanted)
