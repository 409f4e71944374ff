"""A task of a run, with its records, score set and judged metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mmeval.backend.agent.casting import identity_of
from mmeval.backend.contract import AnyBackend, SampleBackend, WholeAnswers
from mmeval.backend.routes import routes_to_fewer
from mmeval.media.parts import Interleaved, PartKind
from mmeval.metric.bound import BoundMetric
from mmeval.metric.derived import PIECES
from mmeval.metric.scoring.score_set import ScoreSet
from mmeval.metric.scoring.trial_rows import ScoringPlan, fixed_score
from mmeval.program.calls import MODEL, CallFailed, Program, Role
from mmeval.program.protocols import Ask, single
from mmeval.program.role_variants import role_for
from mmeval.program.route import Route
from mmeval.records.digests import digest
from mmeval.records.request import GenerationParams
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from mmeval.store.paths import TrialFilter, every_trial
from mmeval.store.task_records import TaskRecords
from mmeval.task.derived_entries import derived_outputs, piece_ranges
from mmeval.task.task import Task

USUAL_PROTOCOL = "single"
"""The default protocol, which the definition of a score set omits."""


@dataclass(frozen=True)
class TaskRun:
    """A task of a run.

    - ``scores``: the task's score set; None if nothing is scored
    - ``judged``: the metrics that call a role
    - ``spellings``: the task's own forms of placeholders
    - ``gives``: output kinds of the model under test; None if it is not called
    - ``whole``: True if the model's backend returns complete answers that were
      generated elsewhere, so that the protocol is not run
    - ``blocks``: True if answers are recorded as blocks
    - ``present``: the roles of the run
    - ``convert``: routes that reduce the inputs of a sample for the model
    """

    task: Task
    plan: ScoringPlan
    records: TaskRecords
    scores: ScoreSet | None = None
    judged: tuple[BoundMetric, ...] = ()
    spellings: tuple[str, ...] = ()
    gives: frozenset[PartKind] | None = None
    whole: bool = False
    blocks: bool = False
    present: frozenset[str] = frozenset()
    convert: tuple[Route, ...] = ()

    def wanted(self, sample: Sample) -> tuple[PartKind, ...]:
        """Returns the kinds to request.

        If the task allows partial output, these are the kinds that the model can
        generate. If it can generate none, all kinds are requested, so that the sample
        is unsupported.
        """
        kinds = self.task.output_kinds(sample)
        if not self.task.partial_output or self.gives is None:
            return kinds
        return tuple(kind for kind in kinds if kind in self.gives) or kinds

    def left_out(self, sample: Sample) -> tuple[PartKind, ...]:
        """Returns the kinds of the task that are not requested from the model."""
        if not self.task.partial_output:
            return ()
        requested = self.wanted(sample)
        task_kinds = self.task.output_kinds(sample)
        return tuple(kind for kind in task_kinds if kind not in requested)

    def program(self, sample: Sample) -> Program[Interleaved]:
        """Returns the program that requests the model's answer to a sample."""
        task = self.task
        protocol = single if self.whole else task.protocol
        prompt, wants = task.prompt(sample), self.wanted(sample)
        return _empty_if_refused(
            protocol(Ask(sample, prompt, wants, task.params, self._model))
        )

    @cached_property
    def _model(self) -> Role:
        return Role(MODEL, convert=self.convert)

    def recorded(self, result: object) -> Interleaved:
        """Converts the result of a protocol to the form that the task records.

        The conversion changes the task's own placeholders, and makes blocks if the task
        records blocks. Raises TypeError if the result is not an answer.
        """
        if not isinstance(result, Interleaved):
            raise TypeError(
                f"the protocol {self.task.protocol_name!r} returned "
                f"{type(result).__name__}, not an answer"
            )
        if self.spellings:
            raw = "".join(part.raw for part in result.parts)
            if "<" in raw or "#" in raw:  # every placeholder has one of these
                result = result.respelled(self.spellings)
        return result.blocks() if self.blocks else result

    def role(self, name: str) -> Role:
        """Returns a role with the task's parameters and the run's variants."""
        return role_for(name, self.task.roles, self.present)

    def judging_key(self, bound: BoundMetric) -> str:
        """Returns a digest that identifies the requests of a judged metric.

        The digest covers the definition of the metric and the parameters of its roles.
        """
        params = {}
        for name in bound.called_roles(self.present):
            params[name] = self.role(name).params.to_json()
        key: list[Any] = [bound.key, params]
        if bound.asks:
            key.append(dict(bound.asks))
        return digest(key)[:12]

    def follows_from(self, bound: BoundMetric) -> set[str]:
        """Returns the outputs that are computed from those of a metric."""
        return derived_outputs(self.task.metrics, bound.metric.outputs)

    def deliver(self, rows: bytes) -> None:
        assert self.scores is not None
        self.scores.add(rows)

    def log_verdicts(self, lines: bytes) -> None:
        assert self.scores is not None
        self.scores.verdicts.add(lines)

    def has_fixed_score(self, trial: Trial) -> bool:
        """Returns True if a rule for empty or refused answers determines the score."""
        return fixed_score(trial, self.plan) is not None

    def left_to_judge(self, is_chosen: TrialFilter = every_trial) -> int:
        """Returns the number of answers to judge; 0 without a judged metric."""
        if not self.judged or self.scores is None:
            return 0
        count = 0
        for index, repeat, trial_digest in self.records.answered():
            if is_chosen(index, repeat):
                count += not self.scores.covers(index, repeat, trial_digest)
        return count

    def close(self) -> None:
        self.records.close()
        if self.scores is not None:
            self.scores.close()


def _empty_if_refused(protocol: Program[Interleaved]) -> Program[Interleaved]:
    """Runs a protocol, and returns an empty answer if a refused reply ends it."""
    try:
        return (yield from protocol)
    except CallFailed as failed:
        if failed.error.kind != "refused":
            raise
        return Interleaved(())


def task_run(
    folder: Path,
    task: Task,
    plan: ScoringPlan,
    backends: Mapping[str, AnyBackend],
    params: Mapping[str, GenerationParams] | None = None,
    *,
    data: str = "",
    scoring: bool = True,
) -> TaskRun:
    """Creates a task in a run folder; ``backends`` are those of the run by role.

    The user's ``params`` of a role override those of the task. The key of the score set
    covers the judges and ``data``, the fingerprint of the data.
    """
    roles = dict(task.roles)
    for role, user_params in (params or {}).items():
        roles[role] = roles.get(role, GenerationParams()).overlaid(user_params)
    task = replace(task, roles=roles)
    scores = None
    if scoring and task.metrics:
        definition = score_definition(task, backends, data)
        scores = ScoreSet(folder, task.name, definition)
    model = backends.get(MODEL)
    gives: frozenset[PartKind] | None = None
    convert: tuple[Route, ...] = ()
    if model is not None:
        gives = frozenset(model.capabilities.outputs)
        convert = routes_to_fewer(
            model.capabilities,
            video_frames=task.video_frames,
            first_picture=task.first_picture,
        )
    return TaskRun(
        task,
        plan,
        TaskRecords(folder, task.name),
        scores,
        judged=judged_metrics(task),
        spellings=tuple(task.config.get("placeholders") or ()),
        gives=gives,
        whole=isinstance(model, WholeAnswers),
        blocks=task.blocks and not isinstance(model, SampleBackend),
        present=frozenset(backends),
        convert=convert,
    )


def judged_metrics(task: Task) -> tuple[BoundMetric, ...]:
    """Returns the available metrics of a task that call a role."""
    available = [metric for metric in task.metrics if not metric.unavailable]
    bounds = [metric.bound for metric in available]
    return tuple(bound for bound in bounds if bound.metric.judged)


def scoring_plan(task: Task, media_root: Path) -> ScoringPlan:
    """Returns the plan of a task for the scoring processes."""
    plain = []
    judged_outputs: list[str] = []
    unavailable: dict[str, str] = {}
    batch = 0
    for entry in task.metrics:
        bound, metric = entry.bound, entry.bound.metric
        if entry.unavailable:
            unavailable.update(dict.fromkeys(metric.outputs, entry.unavailable))
        elif metric.judged:
            judged_outputs.extend(metric.outputs)
        elif not metric.derived:
            plain.append((bound.name, bound.switches, bound.profile))
            batch = max(batch, bound.at_once)
    return ScoringPlan(
        task=task.name,
        metrics=tuple(plain),
        unavailable=unavailable,
        missing_output=task.missing_output,
        refusals=task.refusals,
        labels=task.breakdown,
        cluster_key=task.cluster_key,
        media_root=media_root,
        judged_outputs=tuple(judged_outputs),
        batch=batch,
    )


def score_definition(
    task: Task, backends: Mapping[str, AnyBackend], data: str = ""
) -> dict[str, Any]:
    """Returns everything, except answers, that the numbers of a task depend on.

    The digest of this definition names the score set.
    """
    called: set[str] = set()
    outputs: list[str] = []
    metrics = []
    for entry in task.metrics:
        bound = entry.bound
        roles = bound.called_roles(backends)
        called.update(roles)
        definition: dict[str, Any] = {
            "metric": bound.name,
            "version": bound.metric.version,
            "switches": bound.definition,
            "profile": bound.profile,
            "roles": {
                role: identity_of(role, backends) for role in roles if role in backends
            },
        }
        if bound.asks:
            definition["asks"] = dict(bound.asks)
        if bound.metric.derived:
            definition[PIECES] = piece_ranges(entry, task.metrics)
        else:
            outputs.extend(bound.metric.outputs)
        if entry.lacks:
            definition["lacks"] = [finding.to_json() for finding in entry.lacks]
        metrics.append(definition)

    task_definition: dict[str, Any] = {"task_version": task.version, "data": data}
    if task.protocol_name != USUAL_PROTOCOL:
        task_definition["protocol"] = task.protocol_name
    task_definition["metrics"] = metrics
    task_definition["role_params"] = {
        role: task.roles[role].to_json()
        for role in sorted(called)
        if role in task.roles
    }
    task_definition["outputs"] = sorted(outputs)
    task_definition["missing_output"] = task.missing_output
    if task.refusals != "scored":
        task_definition["refusals"] = task.refusals
    task_definition["labels"] = [*task.breakdown, task.cluster_key]
    return task_definition
