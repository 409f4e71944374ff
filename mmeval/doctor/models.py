"""Check backends by making them as a run does, without weights and requests."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from mmeval.backend.contract import AnyBackend, billed_name
from mmeval.backend.create import create_backend
from mmeval.content.parts import PART_KINDS
from mmeval.doctor.finding import Finding, status_of
from mmeval.errors import MissingExtraError, MmevalError
from mmeval.run.options import BackendSpec

_LIMIT = "max_connections"  # an argument of roles that is not the backend's


def made(specs: Mapping[str, BackendSpec], found: dict[str, AnyBackend], lacking: set[str]) -> Iterator[Finding]:
    """Make each backend: into ``found``, or the extra that it needs into ``lacking``."""
    for role, spec in specs.items():
        args: dict[str, Any] = {name: value for name, value in spec.args.items() if name != _LIMIT}
        try:
            backend = create_backend(spec.name, args)
        except MmevalError as error:
            if isinstance(error, MissingExtraError):
                lacking.add(error.extra)
            yield Finding(status_of(error), f"{role}: {spec.name} cannot be made: {error}", required=True)
            continue
        found[role] = backend
        yield Finding("ok", f"{role}: {_described(spec.name, backend)}")


def close(found: Mapping[str, AnyBackend]) -> None:
    for backend in found.values():
        asyncio.run(backend.close())


def _described(name: str, backend: AnyBackend) -> str:
    """What a backend takes and gives, and where data go."""
    can, identity = backend.capabilities, backend.identity
    host = urlsplit(str(identity.get("base_url") or "")).netloc.rpartition("@")[2]
    place = f"data go to {host}" if host else "on this machine"
    return f"{billed_name(identity) or name} ({name}), {place}; takes {_kinds(can.inputs)}; gives {_kinds(can.outputs)}"


def _kinds(kinds: Collection[str]) -> str:
    """Kinds in their usual order, without reasoning, which is never asked for."""
    return ", ".join(kind for kind in PART_KINDS if kind in kinds and kind != "reasoning") or "nothing"
