"""Writes the notes below UniM's tables: how to read them, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from mmeval.dataset import Subset
from mmeval.results import paper_notes
from mmeval.system.wording import listed
from mmeval.tasks.unim.domains import domain_of
from mmeval.tasks.unim.tables.pool import BAD, Pool, unim_tasks

if TYPE_CHECKING:
    from mmeval.results import StoredRun

READ = (
    "tau: the share of instances whose input the model supports. rel: tau times abs, "
    "or 0 if tau is 0. All other columns: the mean over supported instances."
)
MEANS = (
    "Mean of domains: every domain has the same weight. abs covers domains with a "
    "value. tau and rel cover all domains, so rel is not tau times abs. The published "
    "rows mix the means of domains and of instances."
)
CUT = (
    "Numbers and slices are those of the paper's tables 3-5 (fields) and 25-30 "
    "(domains). The paper does not define the slices of the rows."
)
OF_MEANS = (
    "SQCS of means: the formula of SQCS, applied to the row's SC and GQ, as in some "
    "published rows."
)
OF_MEANS_NEEDS = frozenset({"semantic_correctness", "unim_gq"})
"""The numbers from which the SQCS of means is computed."""
OF_ITEMS = (
    "Items: the number of items with a quality. Answers: the number of answers with "
    "such items. Every item has the same weight. Missing and empty answers have no "
    "items."
)
SCORED = (
    "Scored: the instances that have all of the row's numbers in this run, out of all "
    "instances. An instance that lacks some numbers counts in the others."
)
UNKNOWN = "N/A: the value is unknown, or there are no instances. It does not mean 0."
MAX_NAMES = 3
"""Maximum number of names in a remark."""


def remarks(
    run: StoredRun,
    pool: Pool,
    abbreviations: Mapping[str, str],
    numbers: Collection[str],
) -> tuple[str, ...]:
    """Returns the notes for a run.

    ``abbreviations`` are the numbers' names in the paper. ``numbers`` are the numbers
    that at least one trial has.
    """
    notes = [READ, MEANS]
    if OF_MEANS_NEEDS.issubset(numbers):
        notes.append(OF_MEANS)
    notes += [CUT, SCORED, UNKNOWN]
    tasks = {task.name: task.alias for task in unim_tasks(run)}
    notes += paper_notes(run, tasks)
    for name, alias in tasks.items():
        subset = run.ours.get("subset", {}).get(name)
        note = Subset(**subset).note if subset else ""
        if note:
            notes.append(f"{alias}, {note} samples.")
        if name in run.ours.get("unfinished", {}):
            notes.append(f"The data of {alias} could not be read to the end.")
    left_out = [str(name) for name in run.ours.get("left_out", {})]
    if left_out:
        notes.append(f"Left out without data: {listed(left_out, MAX_NAMES)}.")
    return (*notes, *_about_numbers(pool, abbreviations, numbers), *_about_trials(pool))


def _about_numbers(
    pool: Pool, abbreviations: Mapping[str, str], numbers: Collection[str]
) -> Iterator[str]:
    """Yields notes on numbers without a value, grouped by the most frequent reason."""
    numbers_by_reason: dict[str, list[str]] = {}
    for number, abbreviation in abbreviations.items():
        reasons = Counter[str]()
        for lack, count in pool.missing.items():
            if lack.number == number:
                reasons[lack.reason] = count
        if reasons:
            ((reason, _),) = reasons.most_common(1)
            reason_text = reason or "no reason was reported"
        elif number not in numbers:
            reason_text = "no task in these results computes it"
        else:
            continue
        if len(reasons) > 1:
            reason_text += f" and {len(reasons) - 1} more"
        share = f"{reasons.total():,}" if number in numbers else "all"
        numbers_by_reason.setdefault(reason_text, []).append(
            f"{abbreviation} of {share}"
        )
    for reason, shares in numbers_by_reason.items():
        yield f"Missing: {', '.join(shares)}: {reason}."


def _about_trials(pool: Pool) -> Iterator[str]:
    if pool.bad:
        yield (
            f"bad: {len(pool.bad):,} samples with faulty data, which count neither in "
            f"tau nor in a mean: {listed(list(pool.bad), MAX_NAMES)}."
        )
    if pool.items.partial_answers:
        pieces = [f"{name} ({count:,})" for name, count in pool.items.partial.items()]
        yield (
            f"GQ is partial for {pool.items.partial_answers:,} answers, because items "
            f"of these kinds are left out: {', '.join(pieces)}."
        )
    if pool.shared:
        yield f"{pool.shared:,} trials belong to several tasks and count once."
    unplaced = 0
    for code, trial in zip(pool.codes["place"], pool.trials, strict=True):
        unplaced += code < 0 and trial != BAD
    if unplaced:
        yield (
            f"{unplaced:,} instances have no field or domain and only count in the "
            "mean of all instances."
        )
    unknown = [place.domain for place in pool.places if domain_of(place.domain) is None]
    if unknown:
        yield f"Domains that are not in the paper: {listed(unknown, MAX_NAMES)}."
