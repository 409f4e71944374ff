"""Finds ratings of answers that a run has no longer.

A rating states the digest of the answer that the rater saw. After the model has
answered anew, an old rating says nothing about the new answer.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from mmeval.records.digests import digest
from mmeval.report.page.details import exchanges, output_of
from mmeval.results.stored_run import StoredRun
from mmeval.store.paths import TrialFilter
from mmeval.system.wording import printable
from mmeval.trust.records import Rating, ScoreRow, TrialName
from mmeval.trust.run_scores import trial_name

log = logging.getLogger(__name__)


def answer_digest(output: Iterable[Mapping[str, Any]]) -> str:
    """Returns the digest of an answer's parts, wherever its media are."""
    parts = []
    for part in output:
        media = part.get("media") or {}
        parts.append([part["type"], part.get("text"), media.get("sha256")])
    return digest(parts)


def ratings_of_kept_answers(
    ratings: Sequence[Rating], runs: Mapping[str, StoredRun]
) -> list[Rating]:
    """Returns the ratings without those of another answer than the run has now, whose
    number is logged.

    ``runs`` are given by their names in ratings. If there is only one, a rating need
    not name it. Kept are ratings that state no digest, ratings of pairs, and ratings of
    trials that no run has.
    """
    only = next(iter(runs)) if len(runs) == 1 else None
    names: dict[int, TrialName] = {}
    for place, rating in enumerate(ratings):
        if rating.digest and not rating.a:
            names[place] = (rating.run if only is None else only, rating.trial)

    rated = set(names.values())
    digests: dict[TrialName, set[str]] = {}
    for name, run in runs.items():
        of_run = {trial for run_name, trial in rated if run_name == name}
        for trial, known in _digests(run, of_run):
            digests[name, trial] = known

    kept = []
    for place, rating in enumerate(ratings):
        known = digests.get(names[place], set()) if place in names else set()
        if not known or rating.digest in known:
            kept.append(rating)
    left_out = len(ratings) - len(kept)
    if left_out:
        log.warning("ratings of answers that have changed, left out: %s", left_out)
    return kept


def warn_of_strangers(ratings: Iterable[Rating], scores: Iterable[ScoreRow]) -> None:
    """Logs a warning if no rating is of a scored trial, with a name of each side.

    The usual cause are names of another form, which would look like missing ratings.
    """
    rated = {rating.trial for rating in ratings if not rating.a}
    scored = {score.trial for score in scores}
    if rated and scored and rated.isdisjoint(scored):
        log.warning(
            "no rated trial has a score; ratings name trials such as %r, scores %r",
            printable(min(rated), limit=60),
            printable(min(scored), limit=60),
        )


def _digests(run: StoredRun, rated: Collection[str]) -> Iterator[tuple[str, set[str]]]:
    """Yields each rated trial with the digests that a rating of its answer may state:
    that of its parts, and that of its record. A failed trial has only the latter."""
    if not rated:
        return
    samples = {trial.rpartition("/")[0] for trial in rated}
    for task in run.tasks:
        indices: set[int] = set()
        for row in task.sample_rows():
            if f"{task.name}/{row['sample']['id']}" in samples:
                indices.add(row["i"])
        for trial in task.trials(_of_samples(indices)):
            if trial is None:
                continue
            known = {str(trial.row["d"])}
            output = output_of(trial, exchanges(trial, run.journal))
            if output is not None:
                known.add(answer_digest(output))
            yield trial_name(task.name, str(trial.sample["id"]), trial.repeat), known
    run.close()


def _of_samples(indices: Collection[int]) -> TrialFilter:
    return lambda index, _repeat: index in indices
