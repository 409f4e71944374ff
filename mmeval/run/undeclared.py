"""Kinds that a model may give, and that its arguments do not declare."""

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
    lacks: dict[str, list[PartKind]] = {}
    for task in tasks:
        if task.partial_output:
            wanted = _wanted(task, first_samples)
            lacks[task.name] = [kind for kind in wanted if kind not in known.outputs]
    may_declare = declarable(known, model)
    every = [kind for kinds in lacks.values() for kind in kinds if kind in may_declare]
    named = [kind for kind in (*known.outputs, *every) if kind != "code"]
    outputs = "+".join(dict.fromkeys(named))
    args = ",".join(spelt_args({**model.args, OUTPUTS: outputs}))
    remedy = f"--model_args {shlex.quote(args)}"
    for name, kinds in lacks.items():
        subject = Subject(name, role=MODEL)
        for kind in kinds:
            if kind in known.by_role:
                cause = f"not asked for {kind}, for which it has no tool"
                role = f"--role {known.by_role[kind]}=BACKEND"
                yield Finding("unsupported", subject, cause=cause, remedy=role)
        unstated = [kind for kind in kinds if kind in may_declare]
        if unstated:
            cause = f"not asked for {', '.join(unstated)}: its arguments declare none"
            yield Finding("unsupported", subject, cause=cause, remedy=remedy)


def declarable(known: Capabilities, model: BackendSpec) -> Collection[PartKind]:
    """The kinds that an argument could declare, unless the user gives it already."""
    return () if OUTPUTS in model.args else known.declarable


def _wanted(
    task: Task, first_samples: Callable[[Task], Iterable[Sample]]
) -> Sequence[PartKind]:
    if isinstance(task.wanted, FixedKinds):
        return task.wanted.kinds
    kinds: dict[PartKind, None] = {}
    for sample in first_samples(task):
        # a plugin's protocol may raise anything and call sys.exit; a sample without its
        # kinds is reported when it is its turn
        with contextlib.suppress(Exception, SystemExit):
            kinds |= dict.fromkeys(task.wanted(sample))
    return tuple(kinds)
