"""Finds output kinds that a model may generate although its arguments omit them."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from mmeval.backend.capabilities import Capabilities
from mmeval.findings.finding import Finding, Subject
from mmeval.media.parts import PartKind
from mmeval.program.calls import MODEL
from mmeval.records.sample import Sample
from mmeval.run.options import BackendSpec
from mmeval.run.suspension import spelt_args
from mmeval.task.task import FixedKinds, Task

OUTPUTS = "outputs"
"""The argument of a backend that declares the output kinds of its model."""


def undeclared(
    tasks: Iterable[Task],
    first_samples: Callable[[Task], Iterable[Sample]],
    capabilities: Capabilities,
    model: BackendSpec,
) -> Iterator[Finding]:
    """Yields findings for output kinds that are not requested from a model.

    These kinds are missing in the model's arguments, or a tool that makes them is
    missing. Only tasks with partial output have such findings. The samples of other
    tasks are unsupported, with the same advice.
    """
    missing_kinds: dict[str, list[PartKind]] = {}
    for task in tasks:
        if task.partial_output:
            task_kinds = _requested_kinds(task, first_samples)
            missing_kinds[task.name] = [
                kind for kind in task_kinds if kind not in capabilities.outputs
            ]
    may_declare = declarable(capabilities, model)
    undeclared_kinds = [
        kind
        for kinds in missing_kinds.values()
        for kind in kinds
        if kind in may_declare
    ]
    declared = [
        kind for kind in (*capabilities.outputs, *undeclared_kinds) if kind != "code"
    ]
    outputs = "+".join(dict.fromkeys(declared))
    args = ",".join(spelt_args({**model.args, OUTPUTS: outputs}))
    remedy = f"--model_args {shlex.quote(args)}"
    for name, kinds in missing_kinds.items():
        subject = Subject(name, role=MODEL)
        for kind in kinds:
            if kind in capabilities.by_role:
                cause = f"it is not asked for {kind}, because it has no tool for it"
                role = f"--role {capabilities.by_role[kind]}=BACKEND"
                yield Finding("unsupported", subject, cause=cause, remedy=role)
        declarable_kinds = [kind for kind in kinds if kind in may_declare]
        if declarable_kinds:
            names = ", ".join(declarable_kinds)
            cause = (
                f"it is not asked for {names}, because its arguments do not declare it"
            )
            yield Finding("unsupported", subject, cause=cause, remedy=remedy)


def declarable(capabilities: Capabilities, model: BackendSpec) -> Collection[PartKind]:
    """Returns the kinds that the argument can declare.

    There are none if the user has set the argument.
    """
    return () if OUTPUTS in model.args else capabilities.declarable


def _requested_kinds(
    task: Task, first_samples: Callable[[Task], Iterable[Sample]]
) -> Sequence[PartKind]:
    if isinstance(task.output_kinds, FixedKinds):
        return task.output_kinds.kinds
    kinds: dict[PartKind, None] = {}
    for sample in first_samples(task):
        # a plugin's protocol may raise anything and call sys.exit; the trial of the
        # sample reports it
        with contextlib.suppress(Exception, SystemExit):
            kinds |= dict.fromkeys(task.output_kinds(sample))
    return tuple(kinds)
