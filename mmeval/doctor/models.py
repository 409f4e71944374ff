"""Check backends by making them as a run does, without weights and requests."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping

from mmeval.agent.casting import cast
from mmeval.agent.contract import AgentBackend, asked_words
from mmeval.backend.contract import AnyBackend, asked_model, hosts_of
from mmeval.backend.create import create_backend
from mmeval.content.parts import PART_KINDS
from mmeval.doctor.finding import Finding, status_of
from mmeval.errors import MissingExtraError, MmevalError
from mmeval.run.backends import backend_args
from mmeval.run.options import BackendSpec


def made(
    specs: Mapping[str, BackendSpec], found: dict[str, AnyBackend], lacking: set[str]
) -> Iterator[Finding]:
    """Make each backend: into ``found``, or the extra that it needs into ``lacking``.

    The roles of agents are checked once all backends are made.
    """
    for role, spec in specs.items():
        try:
            backend = create_backend(spec.name, backend_args(spec.args))
        except MmevalError as error:
            if isinstance(error, MissingExtraError):
                lacking.add(error.extra)
            yield Finding(
                status_of(error),
                f"{role}: {spec.name} cannot be made: {error}",
                required=True,
            )
            continue
        found[role] = backend
    try:
        if len(found) == len(specs):
            cast(found, {})
    except MmevalError as error:
        yield Finding(status_of(error), str(error), required=True)
    for role, backend in found.items():
        yield Finding("ok", f"{role}: {_described(specs[role].name, backend)}")
        if isinstance(backend, AgentBackend):
            asks, here = ", ".join(asked_words(backend.agent)), ", ".join(backend.asked)
            yield Finding("ok", f"{role}: asks {asks}; here {here or 'nobody'}")


def close(found: Mapping[str, AnyBackend]) -> None:
    for backend in found.values():
        asyncio.run(backend.close())


def _described(name: str, backend: AnyBackend) -> str:
    """What a backend takes and gives, and where data go."""
    can = backend.capabilities
    hosts = hosts_of(backend)
    model = asked_model(backend.identity)
    place = f"data go to {hosts}" if hosts else "on this machine"
    return (
        f"{model} ({name}), {place}; takes {_kinds(can.inputs)}; gives "
        f"{_kinds(can.outputs)}"
    )


def _kinds(kinds: Collection[str]) -> str:
    """Kinds in their usual order, without reasoning, which is never asked for."""
    return (
        ", ".join(kind for kind in PART_KINDS if kind in kinds and kind != "reasoning")
        or "nothing"
    )
