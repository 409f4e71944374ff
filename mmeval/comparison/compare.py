"""Compares runs from their folders: differences, their uncertainty and power.

    comparison = compare("runs/omni-1/default", "runs/omni-2/default")
    comparison.exit_code, [number.verdict for number in comparison.numbers]

The first run is the reference. A difference is another run's value minus the
reference's. No model is called. Of all plugins, only aggregators are loaded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from mmeval.comparison.changes import Changes, changes_between
from mmeval.comparison.gates import Gate, Margins, gate_of
from mmeval.comparison.named_runs import NamedRuns, models_of
from mmeval.comparison.number import ComparedNumber, Verdict
from mmeval.comparison.ranking import Place, Ranking, key_of, rankings_of
from mmeval.comparison.run_pair import ComparedRun, PairResult, RunPair
from mmeval.comparison.statistics import (
    LEVEL,
    Correction,
    PairedTest,
    corrected,
    levels,
)
from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, EXIT_WORSE, UsageError, did_you_mean
from mmeval.records.score import Key
from mmeval.report.headline import headline_rows
from mmeval.report.page.writer import names_of
from mmeval.results.corrected import corrected_keys
from mmeval.results.numbers import NumberRow, number_rows
from mmeval.results.stored_run import StoredRun
from mmeval.system.wording import split_names

Across = Literal["judge", "definition", "protocol", "prompts"]
Failed = Literal["lost", "zero"]
ALL = "all"
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
ACROSS: tuple[Across, ...] = get_args(Across)
FAILED: tuple[Failed, ...] = get_args(Failed)


_STEADY = 3.0
"""A difference of more than this many standard errors is called steady."""
_UNTESTED: tuple[Verdict, ...] = ("unlike", "no_pairs")


@dataclass(frozen=True)
class Comparison:
    """The result of comparing runs. ``to_json`` returns the output of ``mmeval compare
    --format json``.

    ``exit_code`` is 0, 3 if something requested cannot be compared, or 5 if a gate
    fails. ``tests`` contains two counts: the tests of numbers over all samples, between
    any two runs, and the tests of slices. The tests of each kind are corrected
    together. ``rows`` are the compared numbers. ``pairs`` contains the reference paired
    with each other run. ``repeats`` are further runs of each model, which are treated
    as its repeats.
    """

    runs: tuple[StoredRun, ...]
    names: tuple[str, ...]
    changes: Changes
    numbers: tuple[ComparedNumber, ...]
    rankings: tuple[Ranking, ...]
    gate: Gate | None
    exit_code: int
    options: ComparisonOptions
    tests: tuple[int, int]
    rows: tuple[NumberRow, ...] = field(repr=False)
    pairs: tuple[RunPair, ...] = field(repr=False)
    repeats: tuple[tuple[StoredRun, ...], ...]

    def to_json(self) -> dict[str, Any]:
        runs = []
        for run, name, repeats in zip(self.runs, self.names, self.repeats, strict=True):
            row: dict[str, Any] = {
                "name": name,
                "model": run.model,
                "folder": str(run.folder),
                "results": str(run.results_file),
            }
            if repeats:
                row["repeats"] = [str(repeat.folder) for repeat in repeats]
            runs.append(row)
        numbers = []
        needed = self.options.detect is not None
        equal = self.options.margins.fail_unless_equal is not None
        for number in self.numbers:
            numbers.append(number.to_json(needed=needed, equal=equal))
        return {
            "runs": runs,
            "same": list(self.changes.same),
            "changed": [asdict(change) for change in self.changes.changed],
            "counted": list(self.changes.counted),
            "ranking": [asdict(ranking) for ranking in self.rankings],
            "gate": None if self.gate is None else asdict(self.gate),
            "exit_code": self.exit_code,
            "numbers": numbers,
        }


@dataclass(frozen=True)
class ComparisonOptions:
    """The numbers to compare, and the settings of the tests.

    ``metrics`` may be ``("all",)``. If it is empty, the first metric of each task is
    compared. A failed answer has no score with ``failed="lost"``, and the worst score
    with ``failed="zero"``. With ``simultaneous``, all intervals together contain their
    true differences in 95 % of cases.
    """

    metrics: tuple[str, ...]
    tasks: tuple[str, ...]
    by: str
    across: tuple[str, ...]
    correction: Correction
    alpha: float
    power: float
    detect: float | None
    margins: Margins
    failed: Failed = "lost"
    simultaneous: bool = False

    def __post_init__(self) -> None:
        """Raises UsageError for an invalid value."""
        choices: list[tuple[str, str, tuple[str, ...]]] = [
            ("correction", self.correction, CORRECTIONS),
            ("failed", self.failed, FAILED),
        ]
        for aspect in self.across:
            choices.append(("across", aspect, ACROSS))
        for name, value, known in choices:
            if value not in known:
                raise UsageError(
                    f"--{name} must be one of {', '.join(known)}, not "
                    f"{value!r}{did_you_mean(value, known)}",
                    name=name,
                )
        for name, share in (("alpha", self.alpha), ("power", self.power)):
            if not 0 < share < 1:
                raise UsageError(
                    f"--{name} must be a probability between 0 and 1, not {share}",
                    name=name,
                )
        if self.detect is not None and not 0 < self.detect < math.inf:
            raise UsageError(
                f"--detect must be a difference above 0, not {self.detect}",
                name="detect",
            )


class CorrectedTests(NamedTuple):
    """Tests that are corrected together. Each test has its corrected p, and the level
    below which its p is significant."""

    adjusted: Mapping[Place, float]
    levels: Mapping[Place, float]

    @classmethod
    def of(
        cls, results: Mapping[Place, PairResult], options: ComparisonOptions
    ) -> CorrectedTests:
        p: dict[Place, float] = {}
        for place, result in results.items():
            if result.test is not None and result.test.p is not None:
                p[place] = result.test.p
        values = list(p.values())
        adjusted = corrected(values, options.correction)
        test_levels = levels(values, options.correction, options.alpha)
        return cls(
            adjusted=dict(zip(p, adjusted, strict=True)),
            levels=dict(zip(p, test_levels, strict=True)),
        )


def compare(
    *runs: str | Path,
    metrics: str | Sequence[str] = (),
    tasks: str | Sequence[str] = (),
    by: str = "",
    across: str | Sequence[str] = (),
    correction: Correction = "holm",
    alpha: float = 0.05,
    power: float = 0.8,
    detect: float | None = None,
    fail_if_worse: float | None = None,
    fail_unless_within: float | None = None,
    fail_unless_equal: float | None = None,
    failed: Failed = "lost",
    simultaneous: bool = False,
) -> Comparison:
    """Compare runs from their folders, as ``mmeval compare`` does.

    The first run is the reference. ``NAME=RUN,RUN`` names several runs of one model,
    which are treated as its repeats. A board file stands for its runs. Raises
    MissingDataError if a folder contains no run. Raises UsageError for a run without
    results and for invalid values.
    """
    margins = Margins(fail_if_worse, fail_unless_within, fail_unless_equal)
    options = ComparisonOptions(
        metrics=_names(metrics),
        tasks=_names(tasks),
        by=by,
        across=_names(across),
        correction=correction,
        alpha=alpha,
        power=power,
        detect=detect,
        margins=margins,
        failed=failed,
        simultaneous=simultaneous,
    )
    models: list[NamedRuns] = []
    for words in runs:
        models += models_of(words)
    if len(models) < 2:
        raise UsageError("give at least two runs; the first is the reference")
    names = [model.name for model in models if model.name]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"two runs have the name {name}; give each run its own name"
            )
    try:
        return _compare(models, options)
    finally:
        for model in models:
            for run in model.runs:
                run.close()


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return split_names([names] if isinstance(names, str) else names)


def _compare(models: Sequence[NamedRuns], options: ComparisonOptions) -> Comparison:
    stored = [model.runs[0] for model in models]
    repeats = [model.runs[1:] for model in models]
    distinct = _distinct(stored)
    names = [model.name or name for model, name in zip(models, distinct, strict=True)]
    failed_is_worst = options.failed == "zero"
    runs = []
    for run, name, more_runs in zip(stored, names, repeats, strict=True):
        compared_run = ComparedRun(
            run, name, options.by, repeats=more_runs, failed_is_worst=failed_is_worst
        )
        runs.append(compared_run)
    rows = _chosen([run.results for run in stored], names, options)
    for row in rows:
        for piece in runs[0].pieces(row.task, row.metric):
            for compared_run in runs:
                compared_run.requested_numbers.setdefault(piece.task, set()).add(
                    piece.number
                )

    # any two runs are tested; only pairs with the first run are printed
    pairs: dict[tuple[int, int], RunPair] = {}
    with_worst = options.margins.is_set
    for i, j in combinations(range(len(runs)), 2):
        pairs[i, j] = RunPair(runs[i], runs[j], options.across, with_worst=with_worst)
    of_first = [pairs[0, j] for j in range(1, len(runs))]
    wholes: dict[Place, PairResult] = {}
    for row in rows:
        for (i, j), pair in pairs.items():
            wholes[key_of(row), i, j] = pair.compare(row)
    slices = _slices_of(rows, of_first, options.by)

    # slices are a separate family of tests
    family = CorrectedTests.of(wholes, options)
    slice_family = CorrectedTests.of(slices, options)
    numbers: list[ComparedNumber] = []
    for row in rows:
        key = key_of(row)
        for j, name in enumerate(names[1:], 1):
            place = (key, 0, j)
            number = _number(
                row, place, wholes[place], family, run=name, options=options
            )
            numbers.append(number)
        for place, compared in slices.items():
            of_slice, _, j = place
            if of_slice._replace(slice="") == key:
                number = _number(
                    row, place, compared, slice_family, run=names[j], options=options
                )
                numbers.append(number)

    rankings: tuple[Ranking, ...] = ()
    if len(runs) > 2:
        rankings = rankings_of(rows, of_first, wholes, family.adjusted)
    gate = gate_of(options.margins, numbers, options.correction, options.alpha)
    return Comparison(
        runs=tuple(stored),
        names=tuple(names),
        changes=changes_between(of_first, rows, failed_is_worst=failed_is_worst),
        numbers=tuple(numbers),
        rankings=rankings,
        gate=gate,
        exit_code=_exit_code(gate, numbers),
        options=options,
        tests=(len(family.adjusted), len(slice_family.adjusted)),
        rows=tuple(rows),
        pairs=tuple(of_first),
        repeats=tuple(repeats),
    )


def _exit_code(gate: Gate | None, numbers: Sequence[ComparedNumber]) -> int:
    if gate is not None and not gate.passed:
        return EXIT_WORSE
    has_untested = any(number.verdict in _UNTESTED for number in numbers)
    return EXIT_INCOMPLETE if has_untested or not numbers else EXIT_OK


def _slices_of(
    rows: Sequence[NumberRow], of_first: Sequence[RunPair], label: str
) -> dict[Place, PairResult]:
    """Compares each run with the reference in slices of the tasks' numbers. A slice
    contains the samples with one value of a label. Groups are not sliced. Raises
    UsageError for a label that no sample has."""
    slices: dict[Place, PairResult] = {}
    if not label:
        return slices
    for row in rows:
        scores = None if row.is_group else of_first[0].a.scores(row.task)
        if scores is None:
            continue
        for name, within in scores.slices(label).items():
            key = Key(row.task, row.metric, name)
            for j, pair in enumerate(of_first, 1):
                slices[key, 0, j] = pair.compare(row, within)
    if not slices:
        raise UsageError(
            f"--by {label}: no sample of the compared tasks has this label",
            name="by",
        )
    return slices


def _distinct(runs: Sequence[StoredRun]) -> list[str]:
    """Returns names for the runs. If a name occurs again, a number is added."""
    folders = {run.folder.resolve() for run in runs}
    names = [run.name for run in runs]
    if len(folders) == len(runs):
        names = names_of(runs)
    distinct = []
    for number, name in enumerate(names, 1):
        is_new = name not in names[: number - 1]
        distinct.append(name if is_new else f"{name} [{number}]")
    return distinct


def _chosen(
    documents: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    options: ComparisonOptions,
) -> list[NumberRow]:
    """Returns the rows to compare. Raises UsageError for a task or metric that no run
    has."""
    by_name = options.metrics not in ((), (ALL,))
    rows = number_rows(documents, names, repeats=by_name)
    # corrected numbers have no scores of trials, so they cannot be paired
    corrected: set[tuple[str, str]] = set()
    for document in documents:
        corrected |= corrected_keys(document)
    rows = [row for row in rows if (row.task, row.metric) not in corrected]
    rows = [row for row in rows if not row.slice]
    known_tasks = {row.task for row in rows}
    known_metrics = {row.metric for row in rows}
    for flag, requested, known in (
        ("tasks", options.tasks, known_tasks),
        ("metrics", options.metrics if by_name else (), known_metrics),
    ):
        for name in requested:
            if name not in known:
                raise UsageError(
                    f"--{flag} {name}: not found in any run{did_you_mean(name, known)}",
                    name=name,
                    known=known,
                )
    if options.tasks:
        rows = [row for row in rows if row.task in options.tasks]
    if by_name:
        return [row for row in rows if row.metric in options.metrics]
    if not options.metrics:
        rows = headline_rows(rows)
    return [row for row in rows if row.is_known]


def _number(
    row: NumberRow,
    place: Place,
    result: PairResult,
    family: CorrectedTests,
    *,
    run: str,
    options: ComparisonOptions,
) -> ComparedNumber:
    refused_by_a, refused_by_b = result.refused
    lacking_a, lacking_b = result.missing
    test = result.test
    number = ComparedNumber(
        task=row.task,
        metric=row.metric,
        slice=place[0].slice,
        run=run,
        pairs=result.pairs,
        clusters=0,
        effective=None,
        a=None,
        b=None,
        difference=None,
        stderr=None,
        ci95=None,
        p=None,
        p_adjusted=family.adjusted.get(place),
        smallest_seen=None,
        bounds=result.bounds,
        left_out=result.left_out,
        lacking={"a": dict(lacking_a), "b": dict(lacking_b)},
        refused={"a": refused_by_a.answers, "b": refused_by_b.answers},
        judge_shift=result.shift,
        verdict="unlike" if result.is_unlike else "no_pairs",
        why=result.why,
        alias=row.alias,
        higher_is_better=row.higher_is_better,
        test=test,
        worst=result.worst,
        lost=result.lost,
        is_incomplete=result.is_incomplete,
        is_extra=result.is_extra,
        trials={"a": refused_by_a.trials, "b": refused_by_b.trials},
    )
    if test is None:
        return number

    level = family.levels.get(place, options.alpha)
    of_interval = LEVEL
    if options.simultaneous:  # corrected by Bonferroni
        of_interval /= max(1, len(family.adjusted))
    needed = equivalence_p = None
    if options.detect is not None:
        clusters = test.clusters_needed(options.detect, level, options.power)
        if clusters is not None:
            needed = math.ceil(clusters * result.samples / test.clusters)
    if options.margins.fail_unless_equal is not None:
        equivalence_p = test.equivalence_p(options.margins.fail_unless_equal)
    number = replace(
        number,
        clusters=test.clusters,
        effective=test.effective,
        a=test.a,
        b=test.b,
        difference=test.difference,
        stderr=test.stderr,
        ci95=test.interval(of_interval),
        p=test.p,
        smallest_seen=test.smallest_seen(level, options.power),
        samples_needed=needed,
        equivalence_p=equivalence_p,
    )
    is_significant = number.p_adjusted is not None and number.p_adjusted < options.alpha
    better = test.difference if row.higher_is_better else -test.difference
    verdict: Verdict = "not_seen"
    if is_significant and better:
        verdict = "better" if better > 0 else "worse"
    elif options.margins.is_within(number):
        verdict = "within"
    remarks = _remarks(number, test, options.alpha, is_significant=is_significant)
    return replace(number, verdict=verdict, why="; ".join(remarks))


def _of_zero(
    number: ComparedNumber,
    alpha: float,
    *,
    is_significant: bool,
) -> Iterator[str]:
    """Yields a remark if the interval of a significant difference contains 0, or if the
    interval of a difference that is not significant excludes 0."""
    if number.ci95 is None or number.p is None:
        return
    low, high = number.ci95
    holds_0 = low <= 0 <= high
    if is_significant and holds_0:
        if number.p < LEVEL:
            yield "beyond chance, though its simultaneous interval contains 0"
        else:
            yield (f"p is below --alpha {alpha:g}, though its 95 % interval contains 0")
    elif not is_significant and not holds_0:
        if number.p < alpha:
            yield "its interval excludes 0, but it is one of several tests"
        else:
            why = f"but p is not below --alpha {alpha:g}"
            yield f"its 95 % interval excludes 0, {why}"


def _remarks(
    number: ComparedNumber, test: PairedTest, alpha: float, *, is_significant: bool
) -> Iterator[str]:
    """Yields remarks that a reader should know before using the difference."""
    yield from _of_zero(number, alpha, is_significant=is_significant)
    if number.bounds is not None and number.left_out and number.difference:
        low, high = number.bounds
        if low < 0 < high:
            yield "trials without a pair could reverse the sign"
    if test.are_all_near and test.stderr and not is_significant:
        # it would be significant if no distant clusters could be missing
        is_steady = abs(test.difference) > _STEADY * test.stderr
        if is_steady:
            yield ("steady, but rare changes that no sample shows could outweigh it")
    if test.why:
        yield f"no interval: {test.why}"
    elif number.ci95 is None:
        yield "no interval: too few clusters or draws for simultaneous intervals"
