"""The handshake of a role: asks its backend before the first calls that need it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Collection

from mmeval.backend.handshake.handshake import (
    Extent,
    found_format,
    handshake,
    narrowed,
)
from mmeval.backend.handshake.inputs import TAKES
from mmeval.backend.handshake.outputs import JSON
from mmeval.backend.probe import Probe
from mmeval.broker.checks.handshake_cache import HandshakeCache
from mmeval.broker.runtime import BackendRuntime, ProgramRunner
from mmeval.broker.scope import Scope
from mmeval.media.parts import PartKind
from mmeval.program.calls import Call, Role
from mmeval.records.sample import Sample

SAMPLE = Sample("handshake", ())
"""The sample to which the journal assigns the calls of handshakes."""


class RoleHandshake:
    """Asks the backend of a role what it can do, once for each kind of media.

    ``given`` are the input kinds that the user declares. The backend is asked about
    these kinds too, but they remain declared whatever it replies. With ``full``, all
    questions are asked before the first call.
    """

    def __init__(
        self,
        runtime: BackendRuntime,
        cache: HandshakeCache | None = None,
        *,
        given: Collection[PartKind] = (),
        full: bool = False,
    ) -> None:
        self.probes: list[Probe] = []
        """The results so far, one for each capability."""
        self._runtime = runtime
        self._declared = runtime.declared
        self._cache = cache
        self._given = given
        self._full = full
        self._lock = asyncio.Lock()
        self._covered = Extent()

    async def cover(self, call: Call, runner: ProgramRunner) -> None:
        """Asks about the capabilities that a call needs, unless they are already known.

        Other calls that need the same results wait for them. Raises the errors of a
        lost role, and StoppedError.
        """
        kinds = call.request.kinds() & TAKES.keys() & self._declared.inputs.keys()
        wants_format = call.schema is not None and bool(self._declared.reply_formats)
        if not kinds and not wants_format and not self._full:
            return
        needed = Extent(frozenset(kinds), wants_format)
        if self._full:
            needed = Extent.whole(self._declared)
        if self._is_covered(needed):
            return
        async with self._lock:
            if not self._is_covered(needed):
                await self.ask(call.role, needed, runner)

    async def ask(self, role: str, needed: Extent, runner: ProgramRunner) -> None:
        """Asks the questions that have no result yet, and narrows the role's
        capabilities."""
        probes: list[Probe] = []
        if self._cache is not None and not needed.full:
            probes = self._cache.get(self._runtime.identity)
        known = {probe.capability for probe in probes}
        kinds = needed.kinds - self._covered.kinds
        missing = Extent(
            frozenset(kind for kind in kinds if TAKES[kind] not in known),
            needed.reply_format
            and not self._covered.reply_format
            and JSON not in known,
            needed.full,
        )
        if missing != Extent():
            # The content differs in each session, so that the journal does not answer
            # in place of a server that was mended.
            draw = random.Random(f"{self._runtime.mark} {time.time_ns()}")
            program = handshake(Role(role), self._declared, missing, draw)
            scope = Scope(
                "handshake", SAMPLE, share=False, by_content=True, is_handshake=True
            )
            probes += await runner.run(program, scope)
        self._add(probes)
        if self._cache is not None and missing != Extent():
            self._cache.put(self._runtime.identity, self.probes)
        self._covered = Extent(
            self._covered.kinds | needed.kinds,
            self._covered.reply_format or needed.reply_format,
            self._covered.full or needed.full,
        )

    def _is_covered(self, needed: Extent) -> bool:
        covered = self._covered
        return (
            needed.kinds <= covered.kinds
            and (covered.reply_format or not needed.reply_format)
            and (covered.full or not needed.full)
        )

    def _add(self, probes: Collection[Probe]) -> None:
        known = {probe.capability for probe in self.probes}
        self.probes += [probe for probe in probes if probe.capability not in known]
        runtime = self._runtime
        runtime.capabilities = narrowed(self._declared, self.probes, self._given)
        runtime.reply_format = found_format(self.probes, self._declared.reply_formats)
