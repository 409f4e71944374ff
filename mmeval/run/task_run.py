"""One task within a run: its records, its score set, and the roles that judge it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
from mmeval.store.task_records import TaskRecords
from mmeval.task.derived_entries import derived_outputs, piece_ranges
from mmeval.task.task import Task

USUAL_PROTOCOL = "single"
"""What a score set does not name: how a task is asked that says nothing of it."""


@dataclass(frozen=True)
class TaskRun:
    """A task of a run; ``scores`` is None when nothing is scored. ``judged`` are the
    metrics that ask a role; ``gives`` are the kinds that the model under test can give
    (None: it is not asked); ``whole``: it has whole answers, so the protocol is not
    followed; ``present`` are the run's roles."""

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
    """The routes by which the model gets fewer inputs than a sample has."""

    def wanted(self, sample: Sample) -> tuple[PartKind, ...]:
        """The kinds to ask for; where the output may be partial, those the model can
        give. All of them when it can give none, so that the sample is found
        unsupported."""
        kinds = self.task.wanted(sample)
        if not self.task.partial_output or self.gives is None:
            return kinds
        return tuple(kind for kind in kinds if kind in self.gives) or kinds

    def left_out(self, sample: Sample) -> tuple[PartKind, ...]:
        """The kinds that the task wants and the model is not asked for."""
        asked = self.wanted(sample)
        return tuple(kind for kind in self.task.wanted(sample) if kind not in asked)

    def program(self, sample: Sample) -> Program[Interleaved]:
        """What puts a sample to the model."""
        task = self.task
        protocol = single if self.whole else task.protocol
        asking = protocol(
            Ask(
                sample,
                task.prompt(sample),
                self.wanted(sample),
                task.params,
                Role(MODEL, convert=self.convert),
            )
        )
        return _answered(asking)

    def recorded(self, result: object) -> Interleaved:
        """The answer as the task records a protocol's result: placeholders in its own
        spellings, and as blocks. Raises TypeError for what is no answer."""
        if not isinstance(result, Interleaved):
            raise TypeError(
                f"the protocol {self.task.protocol_name!r} returned "
                f"{type(result).__name__}, not an answer"
            )
        if self.spellings and any(
            mark in part.raw for part in result.parts for mark in "<#"
        ):
            result = result.respelled(self.spellings)
        return result.blocks() if self.blocks else result

    def role(self, name: str) -> Role:
        """A role with the task file's generation parameters and the run's variants of
        it."""
        return role_for(name, self.task.roles, self.present)

    def judging_key(self, bound: BoundMetric) -> str:
        """Names what a judged metric asks: its definition and the parameters of its
        roles."""
        params = {
            name: self.role(name).params.to_json()
            for name in bound.asked_roles(self.present)
        }
        return digest([bound.key, params, *([dict(bound.asks)] if bound.asks else [])])[
            :12
        ]

    def follows_from(self, bound: BoundMetric) -> set[str]:
        """The outputs that cannot be made without those of a metric."""
        return derived_outputs(self.task.metrics, bound.metric.outputs)

    def deliver(self, rows: bytes) -> None:
        assert self.scores is not None
        self.scores.add(rows)

    def log_verdicts(self, lines: bytes) -> None:
        assert self.scores is not None
        self.scores.verdicts.add(lines)

    def has_fixed_score(self, trial: Trial) -> bool:
        """Whether a rule for empty or refused answers has given the score."""
        return fixed_score(trial, self.plan) is not None

    def left_to_judge(self) -> int:
        """How many answers that are recorded have no scores yet, where a judge gives
        some."""
        if not self.judged or self.scores is None:
            return 0
        return sum(not self.scores.covers(*key) for key in self.records.answered())

    def close(self) -> None:
        self.records.close()
        if self.scores is not None:
            self.scores.close()


def _answered(protocol: Program[Interleaved]) -> Program[Interleaved]:
    """A protocol that ends with an empty answer where a refused reply ends it."""
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
    """A task in a run folder; ``backends`` are the run's by role.

    A role's ``params`` of the user win over those of the task. A score set is keyed by
    who judges, and by the fingerprint of the ``data``.
    """
    own = {
        role: task.roles.get(role, GenerationParams()).overlaid(given)
        for role, given in (params or {}).items()
    }
    task = replace(task, roles={**task.roles, **own})
    judged = tuple(
        m.bound for m in task.metrics if m.bound.metric.judged and not m.unavailable
    )
    scores = (
        ScoreSet(folder, task.name, score_definition(task, backends, data))
        if scoring and task.metrics
        else None
    )
    spellings = tuple(task.config.get("placeholders") or ())
    gives = (
        frozenset(backends[MODEL].capabilities.outputs) if MODEL in backends else None
    )
    return TaskRun(
        task,
        plan,
        TaskRecords(folder, task.name),
        scores,
        judged,
        spellings,
        gives,
        whole=isinstance(backends.get(MODEL), WholeAnswers),
        blocks=task.blocks and not isinstance(backends.get(MODEL), SampleBackend),
        present=frozenset(backends),
        convert=()
        if MODEL not in backends
        else routes_to_fewer(
            backends[MODEL].capabilities,
            video_frames=task.video_frames,
            first_picture=task.first_picture,
        ),
    )


def scoring_plan(task: Task, media_root: Path) -> ScoringPlan:
    """What the scoring processes must know of a task."""
    plain = [
        m
        for m in task.metrics
        if not (m.bound.metric.judged or m.bound.metric.derived or m.unavailable)
    ]
    judged = [m for m in task.metrics if m.bound.metric.judged and not m.unavailable]
    return ScoringPlan(
        task=task.name,
        metrics=tuple((m.bound.name, m.bound.switches, m.bound.profile) for m in plain),
        unavailable={
            name: m.unavailable
            for m in task.metrics
            if m.unavailable
            for name in m.bound.metric.outputs
        },
        missing_output=task.missing_output,
        refusals=task.refusals,
        labels=task.breakdown,
        cluster_key=task.cluster_key,
        media_root=media_root,
        judged_outputs=tuple(name for m in judged for name in m.bound.metric.outputs),
        batch=max((m.bound.at_once for m in plain), default=0),
    )


def score_definition(
    task: Task, backends: Mapping[str, AnyBackend], data: str = ""
) -> dict[str, Any]:
    """What the numbers of a task depend on besides answers: it names the score set."""
    asked = sorted(
        {role for m in task.metrics for role in m.bound.asked_roles(backends)}
    )
    metrics = [
        {
            "metric": m.bound.name,
            "version": m.bound.metric.version,
            "switches": m.bound.definition,
            "profile": m.bound.profile,
            "roles": {
                role: identity_of(role, backends)
                for role in m.bound.asked_roles(backends)
                if role in backends
            },
            **({"asks": dict(m.bound.asks)} if m.bound.asks else {}),
            **(
                {PIECES: piece_ranges(m, task.metrics)}
                if m.bound.metric.derived
                else {}
            ),
            **({"lacks": [one.to_json() for one in m.lacks]} if m.lacks else {}),
        }
        for m in task.metrics
    ]
    return {
        "task_version": task.version,
        "data": data,
        **(
            {"protocol": task.protocol_name}
            if task.protocol_name != USUAL_PROTOCOL
            else {}
        ),
        "metrics": metrics,
        "role_params": {
            role: task.roles[role].to_json() for role in asked if role in task.roles
        },
        "outputs": sorted(
            name
            for m in task.metrics
            if not m.bound.metric.derived
            for name in m.bound.metric.outputs
        ),
        "missing_output": task.missing_output,
        **({} if task.refusals == "scored" else {"refusals": task.refusals}),
        "labels": [*task.breakdown, task.cluster_key],
    }
