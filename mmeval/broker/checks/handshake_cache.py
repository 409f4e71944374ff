"""Stores the results of handshakes for later runs with the same backend."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.backend.handshake.outputs import JSON
from mmeval.backend.probe import Probe
from mmeval.errors import StorageError
from mmeval.records.digests import digest
from mmeval.system.folders import write_atomic

MAX_AGE = 30 * 24 * 3600.0
"""Seconds after which a backend is asked again, because its server may run another
model by then."""
QUESTIONS = 1
"""The version of the questions. After a change of version, a backend is asked again."""

log = logging.getLogger(__name__)


class HandshakeCache:
    """Stores the probes of each identity of a backend in its own file.

    A handshake that denies a capability is not stored, because the server may be fixed
    before the next run. A file that cannot be read or written is ignored.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, identity: Mapping[str, Any]) -> list[Probe]:
        """Returns the probes of an identity. The result is empty if they are too
        old."""
        try:
            row = json.loads(self._file(identity).read_bytes())
            if time.time() - float(row["at"]) > MAX_AGE:
                return []
            return [Probe.from_json(probe) for probe in row["probes"]]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return []

    def put(self, identity: Mapping[str, Any], probes: Sequence[Probe]) -> None:
        """Stores the probes of an identity if they deny no capability.

        The probes of a server without JSON replies are stored too, because judges work
        without such replies.
        """
        for probe in probes:
            is_without_json = probe.capability == JSON and probe.verdict == "no"
            if probe.verdict != "yes" and not is_without_json:
                return
        rows = [probe.to_json() for probe in probes]
        content = json.dumps({"at": time.time(), "probes": rows}, ensure_ascii=False)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomic(self._file(identity), content.encode())
        except (OSError, StorageError) as error:
            log.debug("the handshake cannot be stored", exc_info=error)

    def _file(self, identity: Mapping[str, Any]) -> Path:
        name = digest([QUESTIONS, identity])[:32]
        return self._folder / f"{name}.json"
