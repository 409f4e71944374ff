"""Checks backends by creating them as a run does, without weights or requests."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping

from mmeval.backend.agent.casting import cast
from mmeval.backend.agent.contract import AgentBackend, described_roles
from mmeval.backend.capabilities import Limit
from mmeval.backend.contract import AnyBackend, hosts_of, model_name_of
from mmeval.backend.create import create_backend
from mmeval.errors import MmevalError
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.from_error import finding_of
from mmeval.media.parts import PART_KINDS, PartKind
from mmeval.run.backends import backend_args
from mmeval.run.options import BackendSpec


def create(
    specs: Mapping[str, BackendSpec], backends: dict[str, AnyBackend]
) -> Iterator[Finding]:
    """Creates each backend and adds it to ``backends``.

    Yields a finding for each error. The roles of agents are checked only if all
    backends were created.
    """
    for role, spec in specs.items():
        try:
            backends[role] = create_backend(spec.name, backend_args(spec))
        except MmevalError as error:
            yield finding_of(error, Subject(role=role, name=spec.name))
    try:
        if len(backends) == len(specs):
            cast(backends, {})
    except MmevalError as error:
        yield finding_of(error)


def described(
    specs: Mapping[str, BackendSpec], backends: Mapping[str, AnyBackend]
) -> Iterator[tuple[str, str]]:
    """Yields each role with its model, the host that gets its data, and its kinds."""
    for role, backend in backends.items():
        capabilities = backend.capabilities
        yield (
            role,
            f"{named(specs[role], backend)}; takes "
            f"{_inputs(capabilities.inputs)}; gives {_kinds(capabilities.outputs)}",
        )
        if isinstance(backend, AgentBackend):
            asks = ", ".join(described_roles(backend.agent))
            yield (
                role,
                f"can call {asks}; here it calls "
                f"{', '.join(backend.called_roles) or 'no role'}",
            )


def named(spec: BackendSpec, backend: AnyBackend) -> str:
    """Returns the model, its backend, and the host that gets its data."""
    hosts = hosts_of(backend)
    place = f"data go to {hosts}" if hosts else "on this machine"
    return f"{model_name_of(backend.identity)} ({spec.name}), {place}"


def close(backends: Mapping[str, AnyBackend]) -> None:
    for backend in backends.values():
        asyncio.run(backend.close())


def _inputs(limits: Mapping[PartKind, Limit]) -> str:
    """Lists kinds in their usual order, with limits on the number of their parts."""
    words = []
    for kind in _in_usual_order(limits):
        numbers = _numbers(limits[kind])
        words.append(f"{kind} ({numbers})" if numbers else kind)
    return ", ".join(words) or "nothing"


def _numbers(limit: Limit) -> str:
    least, most = limit.min_items, limit.max_items
    if least == most:
        return f"exactly {least}"
    words = []
    if least:
        words.append(f"at least {least}")
    if most is not None:
        words.append(f"at most {most}")
    return ", ".join(words)


def _kinds(kinds: Collection[PartKind]) -> str:
    return ", ".join(_in_usual_order(kinds)) or "nothing"


def _in_usual_order(kinds: Collection[PartKind]) -> list[PartKind]:
    """Returns kinds in order, without reasoning, which is never requested."""
    return [kind for kind in PART_KINDS if kind in kinds and kind != "reasoning"]
