"""The certificates of judges in a run folder: what their audits found.

``mmeval audit`` writes them as ``audit/certificates/<digest>.json``.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

FOLDER = Path("audit", "certificates")


@dataclass(frozen=True)
class AuditedJudge:
    """A judge, the names of its checks by their verdict, and the digest of its
    certificate."""

    judge: str
    checks: tuple[tuple[str, str], ...]
    digest: str

    def with_verdict(self, verdict: str) -> list[str]:
        """Returns the checks with a verdict: fault, slight, none or unknown."""
        return [check for check, its_verdict in self.checks if its_verdict == verdict]


def audited_judges(run: Path) -> Iterator[AuditedJudge]:
    """Yields the certificates in a run folder. Damaged ones are left out and logged."""
    for file in sorted((run / FOLDER).glob("*.json")):
        try:
            document = json.loads(file.read_bytes())
            checks = []
            for row in document["checks"]:
                checks.append((str(row["check"]), str(row["verdict"])))
            yield AuditedJudge(str(document["judge"]), tuple(checks), file.stem)
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            log.warning("%s is damaged and not shown (%s)", file, error)
