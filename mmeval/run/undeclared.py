"""Kinds that a model may give, and that its arguments do not declare."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence

from mmeval.backend.capabilities import Capabilities
from mmeval.content.parts import PartKind
from mmeval.errors import Caught
from mmeval.findings.finding import Finding, Subject
from mmeval.program.calls import MODEL
from mmeval.records.sample import Sample
from mmeval.run.options import BackendSpec
from mmeval.run.suspension import spelt_args
from mmeval.task.task import FixedKinds, Task

OUTPUTS = "outputs"
"""The argument of a backend that declares what its model gives."""


def undeclared(
    tasks: Iterable[Task],
    first_samples: Callable[[Task], Iterable[Sample]],
    known: Capabilities,
    model: BackendSpec,
) -> Iterator[Finding]:
    """The kinds that a model is not asked for, since its user does not state that it
    gives them, or which tool does.

    Only a task that takes partial answers is asked all the same. For another one the
    samples are unsupported, with the same advice.
    """
    lacks: dict[PartKind, list[Task]] = {}
    for task in tasks:
        if not task.partial_output:
            continue
        for kind in _wanted(task, first_samples):
            if kind not in known.outputs:
                lacks.setdefault(kind, []).append(task)
    declarable: list[PartKind] = []
    if OUTPUTS not in model.args:
        declarable = [kind for kind in lacks if kind in known.declarable]
    for kind, having in lacks.items():
        cause = f"not asked for {kind}, which its arguments do not declare"
        if kind in known.by_role:
            cause = f"not asked for {kind}, for which it has no tool"
            remedy = f"--role {known.by_role[kind]}=BACKEND"
        elif kind in declarable:
            remedy = _with_outputs(model, [*known.outputs, *declarable])
        else:
            continue
        for task in having:
            subject = Subject(task.name, role=MODEL)
            yield Finding("unsupported", subject, cause=cause, remedy=remedy)


def _wanted(
    task: Task, first_samples: Callable[[Task], Iterable[Sample]]
) -> Sequence[PartKind]:
    if isinstance(task.wanted, FixedKinds):
        return task.wanted.kinds
    kinds: dict[PartKind, None] = {}
    for sample in first_samples(task):
        with Caught():  # a sample without its kinds is reported when it is its turn
            kinds |= dict.fromkeys(task.wanted(sample))
    return tuple(kinds)


def _with_outputs(model: BackendSpec, kinds: Iterable[PartKind]) -> str:
    """The flag of the model's arguments, with what it gives."""
    given = "+".join(dict.fromkeys(kind for kind in kinds if kind != "code"))
    args = ",".join(spelt_args({**model.args, OUTPUTS: given}))
    return f"--model_args {shlex.quote(args)}"
