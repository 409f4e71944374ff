"""Handshakes of a run, and complete handshakes without a run."""

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
    """Returns what each of these roles can do, or why it cannot be asked.

    Does not wait for a server that cannot be reached. Backends that answer from the
    sample are left out. The answers are journalled in a temporary folder, which is
    removed afterwards.
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
    the results of an earlier session are used, because a run has only one model.
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
    """Yields findings for capabilities that a handshake denies or doubts.

    ``given`` are the input kinds that the user declares, by role. These kinds stay
    declared. This function yields no finding for any other denied kind, because samples
    with this kind are reported as unsupported.
    """
    for role, probes in handshakes.items():
        for probe in probes:
            if probe.capability == ANSWERS:  # failed calls are reported anyway
                continue
            kind = KIND_OF.get(probe.capability)
            is_narrowed = kind is not None and kind not in given.get(role, ())
            if probe.verdict == "no" and not is_narrowed and probe.capability != JSON:
                doubt = f"the handshake did not confirm that it {probe.capability}"
            elif probe.verdict == "doubtful":
                doubt = f"the handshake cannot tell whether it {probe.capability}"
            else:
                continue
            cause = f"{doubt} ({probe.evidence})"
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
