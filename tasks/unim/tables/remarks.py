"""The notes below UniM's tables: how to read them, and the basis of their numbers."""

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
    "tau: the instances whose input the model takes. abs, and every column that is "
    "not rel: the mean over these. rel: "
    "tau times abs; 0 where the model takes nothing."
)
MEANS = (
    "Mean of domains: every domain the same; abs over the domains that have a value, "
    "tau and rel over all, so that rel "
    "is not tau times abs. The published rows mix both means."
)
CUT = (
    "Numbers and slices are those of the paper's tables 3-5 (fields) and 25-30 "
    "(domains); how exactly these cut their "
    "rows is not known."
)
OF_MEANS = (
    "SQCS of means: its formula on the row's SC and GQ, as some published rows have it."
)
OF_MEANS_NEEDS = frozenset({"semantic_correctness", "unim_gq"})
"""The numbers that the SQCS of means needs."""
OF_ITEMS = (
    "Items: those that have a quality; Answers: those that have an item of the "
    "modality. Every item counts the same. "
    "An answer that was not given, or is empty, has none."
)
SCORED = (
    "Scored: the instances that have every number of the row that this run gives, of "
    "all. One that lacks some counts "
    "in the others."
)
UNKNOWN = "N/A: not known, or of no instance; it is not 0."
SHOWN = 3
"""The most names that a remark lists."""


def remarks(
    run: StoredRun, pool: Pool, letters: Mapping[str, str], given: Collection[str]
) -> tuple[str, ...]:
    """The notes of a run; ``letters`` are the paper's names of the numbers.
    ``given`` are the numbers that some trial has."""
    notes = [READ, MEANS]
    if OF_MEANS_NEEDS.issubset(given):
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
            notes.append(f"The data of {alias} could not be read to their end.")
    left_out = [str(name) for name in run.ours.get("left_out", {})]
    if left_out:
        notes.append(f"Left out, no data here: {listed(left_out, SHOWN)}.")
    return (*notes, *_about_numbers(pool, letters, given), *_about_trials(pool))


def _about_numbers(
    pool: Pool, letters: Mapping[str, str], given: Collection[str]
) -> Iterator[str]:
    """The numbers without a value, grouped by their most frequent reason."""
    alike: dict[str, list[str]] = {}
    for number, short in letters.items():
        reasons = Counter[str]()
        for lack, count in pool.lacks.items():
            if lack.number == number:
                reasons[lack.reason] = count
        if reasons:
            ((reason, _),) = reasons.most_common(1)
            why = reason or "no reason is given"
        elif number not in given:
            why = "these results have it of no task"
        else:
            continue
        if len(reasons) > 1:
            why += f" and {len(reasons) - 1} more"
        share = f"{reasons.total():,}" if number in given else "all"
        alike.setdefault(why, []).append(f"{short} of {share}")
    for reason, shorts in alike.items():
        yield f"Lacking: {', '.join(shorts)}: {reason}."


def _about_trials(pool: Pool) -> Iterator[str]:
    if pool.bad:
        yield (
            f"bad: {len(pool.bad):,}, not asked because of the data, and neither in "
            f"tau nor in any mean: {listed(list(pool.bad), SHOWN)}."
        )
    if pool.items.partial_answers:
        pieces = [f"{name} ({count:,})" for name, count in pool.items.partial.items()]
        yield (
            f"GQ is partial in {pool.items.partial_answers:,} answers, without the "
            f"items that they may have for {', '.join(pieces)}."
        )
    if pool.shared:
        yield f"{pool.shared:,} trials belong to several tasks and count once."
    unplaced = 0
    for code, trial in zip(pool.codes["place"], pool.trials, strict=True):
        unplaced += code < 0 and trial != BAD
    if unplaced:
        yield (
            f"{unplaced:,} instances have no field or domain and count in the mean of "
            "all instances alone."
        )
    unknown = [place.domain for place in pool.places if domain_of(place.domain) is None]
    if unknown:
        yield f"Domains that the paper does not name: {listed(unknown, SHOWN)}."
