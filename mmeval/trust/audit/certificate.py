"""The certificate of a judge: what its audit found, for which prompts and sample.

It is named by the digest of judge, prompts and sample, so that another judge, a changed
prompt or another sample has another certificate.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmeval.results.certificates import FOLDER, audited_judges
from mmeval.system.folders import write_atomic
from mmeval.system.wording import printable
from mmeval.trust.audit.audit import Audit
from mmeval.trust.audit.audit_text import (
    HEADS,
    audit_notes,
    audit_verdict,
    check_row,
)

_VERSION = 1
_TEMPLATE = Path(__file__).with_name("certificate.html.jinja")
_WIDEST = 200


@dataclass(frozen=True)
class Certificate:
    """The audit of a judge on a benchmark. ``digest`` is that of judge, prompts and
    sample. ``samples`` and ``answers`` are numbers."""

    judge: str
    metric: str
    tasks: tuple[str, ...]
    samples: int
    answers: int
    digest: str
    audit: Audit

    def to_json(self) -> dict[str, Any]:
        """Returns all fields, with the version of the form."""
        return {
            "v": _VERSION,
            "judge": self.judge,
            "metric": self.metric,
            "tasks": list(self.tasks),
            "samples": self.samples,
            "answers": self.answers,
            "digest": self.digest,
            **self.audit.to_json(),
        }

    def page(self) -> str:
        """Returns the page, which needs no other file."""
        # imported late, because only this command renders a page
        from jinja2 import Environment, StrictUndefined

        environment = Environment(autoescape=True, undefined=StrictUndefined)
        template = environment.from_string(_TEMPLATE.read_text("utf-8"))
        return template.render(
            judge=printable(self.judge, limit=_WIDEST),
            metric=printable(self.metric, limit=_WIDEST),
            tasks=[printable(task, limit=_WIDEST) for task in self.tasks],
            samples=f"{self.samples:,}",
            answers=f"{self.answers:,}",
            digest=self.digest,
            verdict=audit_verdict(self.audit),
            heads=HEADS,
            rows=[check_row(row) for row in self.audit.checks],
            notes=list(audit_notes(self.audit)),
        )


def write_certificate(certificate: Certificate, run: Path) -> Path:
    """Writes the certificate as a page and as JSON into a run folder, and returns the
    page's path.

    A kept certificate with further checks is not replaced, so that a later audit of few
    checks hides no fault. Raises StorageError.
    """
    target = run / FOLDER
    page = target / f"{certificate.digest}.html"
    checks = {row.check for row in certificate.audit.checks}
    for kept in audited_judges(run):
        kept_checks = {check for check, _ in kept.checks}
        if kept.digest == certificate.digest and kept_checks - checks:
            return page

    target.mkdir(parents=True, exist_ok=True)
    document = json.dumps(certificate.to_json(), indent=1, ensure_ascii=False)
    write_atomic(target / f"{certificate.digest}.json", f"{document}\n".encode())
    write_atomic(page, certificate.page().encode("utf-8", "replace"))
    return page
