"""Handshakes of a run, and complete ones before any run."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from mmeval.backend.handshake.handshake import ANSWERS, Extent
from mmeval.backend.handshake.inputs import TAKES
from mmeval.backend.handshake.outputs import JSON
from mmeval.backend.probe import Probe
from mmeval.broker.broker import Broker
from mmeval.broker.checks.handshake import RoleHandshake
from mmeval.broker.runtime import BackendRuntime
from mmeval.errors import MmevalError
from mmeval.findings.finding import Finding, Subject
from mmeval.program.calls import MODEL
from mmeval.run.backends import Backends
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore

KIND_OF = {name: kind for kind, name in TAKES.items()}


def complete_handshakes(
    backends: Backends, roles: Collection[str]
) -> Mapping[str, list[Probe] | MmevalError]:
    """What each of these roles can do, or why it cannot be asked.

    A server that cannot be reached is not waited for. Backends that answer from the
    sample are left out. Nothing is kept: the answers are in a folder that is removed.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        journal = stack.enter_context(
            closing(Journal(folder / "journal", MediaStore(folder / "media")))
        )
        return asyncio.run(_ask_all(backends, roles, Broker(journal)))


def handshakes_of(broker: Broker, record: Mapping[str, Any]) -> dict[str, list[Probe]]:
    """Returns the results of handshakes by role, without roles that were never asked.

    ``record`` is the content of ``run.json``. If this session did not ask the model,
    the results of an earlier session count, because a run has only one model.
    """
    results: dict[str, list[Probe]] = {}
    for row in record.get("handshakes", {}).get(MODEL, ()):
        results.setdefault(MODEL, []).append(Probe.from_json(row))
    for role, runtime in broker.roles.items():
        if runtime.handshake is not None and runtime.handshake.probes:
            results[role] = runtime.handshake.probes
    return results


def handshake_findings(
    handshakes: Mapping[str, Sequence[Probe]], given: Mapping[str, Collection[str]]
) -> Iterator[Finding]:
    """Findings for capabilities that a handshake denies or doubts.

    ``given`` are the input kinds that the user declares, by role: they stay declared. A
    denied kind that is not given makes its samples unsupported, which is reported with
    them.
    """
    for role, probes in handshakes.items():
        for probe in probes:
            if probe.capability == ANSWERS:  # the calls of the role fail themselves
                continue
            kind = KIND_OF.get(probe.capability)
            is_narrowed = kind is not None and kind not in given.get(role, ())
            if probe.verdict == "no" and not is_narrowed and probe.capability != JSON:
                cause = f"not confirmed that it {probe.capability}: {probe.evidence}"
            elif probe.verdict == "doubtful":
                cause = f"doubtful whether it {probe.capability}: {probe.evidence}"
            else:
                continue
            yield Finding("unsupported", Subject(role=role), cause=cause)


async def _ask_all(
    backends: Backends, roles: Collection[str], broker: Broker
) -> dict[str, list[Probe] | MmevalError]:
    broker.roles = backends.runtimes(lambda: 1, limit=8, retries=0, patience=0)
    results: dict[str, list[Probe] | MmevalError] = {}
    by_mark: dict[str, list[Probe] | MmevalError] = {}
    try:
        for role, runtime in broker.roles.items():
            if role not in roles or runtime.samples is not None:
                continue
            # Roles with the same model are asked once.
            if runtime.mark not in by_mark:
                by_mark[runtime.mark] = await _ask(role, runtime, broker)
            results[role] = by_mark[runtime.mark]
    finally:
        await broker.close()
    return results


async def _ask(
    role: str, runtime: BackendRuntime, broker: Broker
) -> list[Probe] | MmevalError:
    handshake = RoleHandshake(runtime)
    try:
        await handshake.ask(role, Extent.whole(runtime.capabilities), broker)
    except MmevalError as error:
        return error
    return handshake.probes
