"""Checks backends by creating them as a run does, without weights and requests."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping

from mmeval.backend.agent.casting import cast
from mmeval.backend.agent.contract import AgentBackend, described_roles
from mmeval.backend.contract import AnyBackend, hosts_of, model_name_of
from mmeval.backend.create import create_backend
from mmeval.errors import MmevalError
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.from_error import finding_of
from mmeval.media.parts import PART_KINDS
from mmeval.run.backends import backend_args
from mmeval.run.options import BackendSpec


def create(
    specs: Mapping[str, BackendSpec], backends: dict[str, AnyBackend]
) -> Iterator[Finding]:
    """Create each backend and add it to ``backends``. The roles of agents are checked
    once all backends are created."""
    for role, spec in specs.items():
        try:
            backends[role] = create_backend(spec.name, backend_args(spec.args))
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
    """Each role with its model, where data are sent, and its input and output kinds."""
    for role, backend in backends.items():
        capabilities = backend.capabilities
        hosts = hosts_of(backend)
        place = f"data go to {hosts}" if hosts else "on this machine"
        yield (
            role,
            f"{model_name_of(backend.identity)} ({specs[role].name}), {place}; takes "
            f"{_kinds(capabilities.inputs)}; gives {_kinds(capabilities.outputs)}",
        )
        if isinstance(backend, AgentBackend):
            asks = ", ".join(described_roles(backend.agent))
            yield (
                role,
                f"asks {asks}; here {', '.join(backend.called_roles) or 'nothing'}",
            )


def close(backends: Mapping[str, AnyBackend]) -> None:
    for backend in backends.values():
        asyncio.run(backend.close())


def _kinds(kinds: Collection[str]) -> str:
    """Kinds in their usual order, without reasoning, which is never requested."""
    shown = [kind for kind in PART_KINDS if kind in kinds and kind != "reasoning"]
    return ", ".join(shown) or "nothing"
