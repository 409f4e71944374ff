"""The verdicts of a judge in a run folder, by trial."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from mmeval.metric.scoring.verdict_log import FILE
from mmeval.results.stored_run import StoredTask
from mmeval.system.json_lines import read_rows
from mmeval.trust.audit.criteria import CriterionVerdict, criteria_in, share_met
from mmeval.trust.kept_verdicts import RunJudges

Place = tuple[str, int, int]
"""A trial in a run folder: its task, the index of its sample, and the repeat."""
Versions = frozenset[tuple[str, str, str]]
"""Versions that a server reported, each with its fingerprint and the day (UTC)."""


class Verdict(NamedTuple):
    """A score on the scale of the metric, or None. ``is_unsure`` is True if the judge
    cannot tell."""

    value: float | None
    cluster: str = ""
    is_unsure: bool = False
    versions: Versions = frozenset()
    criteria: tuple[CriterionVerdict, ...] = ()

    @property
    def is_settled(self) -> bool:
        """True if the judge is not asked again."""
        return self.is_unsure or self.value is not None

    def about(self, names: Collection[str]) -> Verdict:
        """Returns the verdict on some criteria of a rubric alone."""
        if not self.criteria:
            return self
        value, is_unsure = share_met(self.criteria, names)
        return self._replace(value=value, is_unsure=is_unsure)


NO_VERDICT = Verdict(None)


def verdicts_in(
    folder: Path, score_sets: Mapping[str, Path], judges: RunJudges
) -> dict[Place, Verdict]:
    """Returns the verdicts in a run folder, from one score set of each task."""
    verdicts = {}
    for task, score_set in score_sets.items():
        stored = StoredTask(task, {}, folder, score_set)
        versions = _versions(task, score_set, judges.metric(task))
        for row in stored.score_rows():
            score = row["scores"].get(judges.number, {})
            is_scored = score.get("status") == "scored"
            place = (task, row["i"], row["n"])
            verdicts[place] = Verdict(
                score["value"] if is_scored else None,
                row.get("cluster", ""),
                score.get("cause") == "unsure",
                frozenset(versions[place]),
                criteria_in(score.get("evidence", {})),
            )
    return verdicts


def _versions(
    task: str, score_set: Path, metric: str
) -> defaultdict[Place, set[tuple[str, str, str]]]:
    versions: defaultdict[Place, set[tuple[str, str, str]]] = defaultdict(set)
    for _, row in read_rows(score_set / FILE):
        if row["metric"] == metric and "error" not in row:
            day = datetime.fromtimestamp(row["at"], UTC).date().isoformat()
            place = (task, row["i"], row["n"])
            versions[place].add((row["served"], row["fingerprint"], day))
    return versions
