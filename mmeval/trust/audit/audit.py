"""Audits a judge: computes each check from its verdicts, and corrects them together.

    result = audit(calls, checks=("swap", "inject"))
    result.exit_code(("swap",)), result.checks[0].word

The verdicts are those of a run or of a file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from mmeval.comparison.statistics import corrected
from mmeval.errors import EXIT_OK, EXIT_WORSE
from mmeval.trust.audit.calls import Call
from mmeval.trust.audit.checks import CHECKS
from mmeval.trust.audit.evidence import CheckResult, Evidence

ANY = "any"
"""Stands for all checks in ``--fail_on``."""


@dataclass(frozen=True)
class Audit:
    """The results of the checks, in the order in which they were asked for."""

    checks: Sequence[CheckResult]

    @property
    def faults(self) -> tuple[str, ...]:
        """The names of the checks that find a fault."""
        return tuple(row.check for row in self.checks if row.word == "fault")

    def exit_code(self, fail_on: Collection[str]) -> int:
        """Returns 5 if one of these checks finds a fault, otherwise 0."""
        for check in self.faults:
            if check in fail_on or ANY in fail_on:
                return EXIT_WORSE
        return EXIT_OK

    def to_json(self) -> dict[str, Any]:
        """Returns the results of all checks."""
        return {"checks": [row.to_json() for row in self.checks]}


def audit(
    calls: Iterable[Call],
    checks: Sequence[str] = (),
    *,
    assume_exact: bool = False,
    reasons: Mapping[str, str] = MappingProxyType({}),
) -> Audit:
    """Returns the results of checks over scores from 0 to 1.

    Without ``checks``, those of the calls are done, as they first appear. With
    ``assume_exact``, a single rating of a trial is treated as free of error.
    ``reasons`` say why a check has no calls, if it has none.
    """
    of_check: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        is_exact = assume_exact and call.human2 is None
        counted = replace(call, human2=call.human) if is_exact else call
        of_check[call.check].append(counted)
    results = []
    for name in checks or list(of_check):
        check = CHECKS[name]
        evidence = check.measure(of_check[name])
        if name in reasons and not of_check[name]:
            evidence = Evidence(why=reasons[name])
        results.append(CheckResult(name, evidence, check.margin, check.honest))
    return Audit(_adjusted(results))


def _adjusted(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Returns the results with Holm's p. Checks without a p are not counted."""
    tested = [row for row in results if row.evidence.p is not None]
    p_values = [row.evidence.p for row in tested if row.evidence.p is not None]
    p_of = dict(
        zip((row.check for row in tested), corrected(p_values, "holm"), strict=True)
    )
    return [replace(row, p_adjusted=p_of.get(row.check)) for row in results]
