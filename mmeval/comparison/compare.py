"""Compares runs from their folders: which numbers differ, which are too close to
tell, and what could have been seen.

    found = compare("runs/omni-1/default", "runs/omni-2/default")
    found.exit_code, [number.verdict for number in found.numbers]

The first run is the reference; a difference is another run's value minus its. Nothing
is asked, and no plugin is loaded but the aggregator of a number that has one of its
own.
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
from mmeval.comparison.named_runs import NamedRuns, named_runs
from mmeval.comparison.number import Number, Verdict
from mmeval.comparison.ranking import Place, Ranking, key_of, rankings_of
from mmeval.comparison.run_pair import Compared, ComparedRun, RunPair
from mmeval.comparison.statistics import LEVEL, Correction, Paired, corrected, levels
from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, EXIT_WORSE, UsageError, did_you_mean
from mmeval.records.score import Key
from mmeval.report.headline import headline_rows
from mmeval.report.page.writer import names_of
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
"""Standard errors from which a difference is called steady."""
_UNTESTED: tuple[Verdict, ...] = ("unlike", "no_pairs")


@dataclass(frozen=True)
class Comparison:
    """What came of comparing some runs; ``to_json`` is what the command prints with
    ``--format json``.

    ``exit_code`` is 0, 3 where something asked cannot be compared, or 5 where a gate is
    shut. ``tests`` are those that are corrected together: of whole numbers between
    every two runs, and of slices. ``rows`` are the compared numbers, ``pairs`` the
    reference with each other run. ``repeats`` are further runs of each model that count
    as its repeats.
    """

    runs: tuple[StoredRun, ...]
    names: tuple[str, ...]
    changes: Changes
    numbers: tuple[Number, ...]
    rankings: tuple[Ranking, ...]
    gate: Gate | None
    exit_code: int
    options: Options
    tests: tuple[int, int]
    rows: tuple[NumberRow, ...] = field(repr=False)
    pairs: tuple[RunPair, ...] = field(repr=False)
    repeats: tuple[tuple[StoredRun, ...], ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": [
                {
                    "name": name,
                    "model": run.model,
                    "folder": str(run.folder),
                    "results": str(run.results_file),
                    **(
                        {"repeats": [str(more.folder) for more in repeats]}
                        if repeats
                        else {}
                    ),
                }
                for run, name, repeats in zip(
                    self.runs, self.names, self.repeats, strict=True
                )
            ],
            "same": list(self.changes.same),
            "changed": [asdict(change) for change in self.changes.changed],
            "counted": list(self.changes.counted),
            "ranking": [one.to_json() for one in self.rankings],
            "gate": None if self.gate is None else asdict(self.gate),
            "exit_code": self.exit_code,
            "numbers": [
                number.to_json(
                    needed=self.options.detect is not None,
                    equal=self.options.margins.fail_unless_equal is not None,
                )
                for number in self.numbers
            ],
        }


@dataclass(frozen=True)
class Options:
    """What is compared, and how sure it has to be. ``metrics`` may be ``("all",)``;
    empty is the first of each task. ``failed`` says what a failed answer is: without a
    score, or the worst one. ``simultaneous`` intervals hold all together."""

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
        """Raises UsageError for what means nothing."""
        for name, value, known in (
            *(("across", one, ACROSS) for one in self.across),
            ("correction", self.correction, CORRECTIONS),
            ("failed", self.failed, FAILED),
        ):
            if value not in known:
                raise UsageError(
                    f"--{name}: {', '.join(known)} are there, not "
                    f"{value!r}{did_you_mean(value, known)}",
                    name=name,
                )
        for name, share in (("alpha", self.alpha), ("power", self.power)):
            if not 0 < share < 1:
                raise UsageError(
                    f"--{name} is a probability between 0 and 1, not {share}", name=name
                )
        if self.detect is not None and not (
            self.detect > 0 and math.isfinite(self.detect)
        ):
            raise UsageError(
                f"--detect is a difference above 0, not {self.detect}", name="detect"
            )


class Family(NamedTuple):
    """The tests that are corrected together: their corrected p, and the p below which
    each is a find."""

    adjusted: Mapping[Place, float]
    levels: Mapping[Place, float]

    @classmethod
    def of(cls, found: Mapping[Place, Compared], options: Options) -> Family:
        known = {
            place: one.test.p
            for place, one in found.items()
            if one.test is not None and one.test.p is not None
        }
        values = list(known.values())
        return cls(
            dict(zip(known, corrected(values, options.correction), strict=True)),
            dict(
                zip(
                    known,
                    levels(values, options.correction, options.alpha),
                    strict=True,
                )
            ),
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
    """Compare runs from their folders, the first of which is the reference, as ``mmeval
    compare`` does. ``NAME=RUN,RUN`` are runs of one model that count as repeats.

    Raises MissingDataError where there is no run, UsageError for one that has no
    results, and for what cannot be meant.
    """
    names = [
        split_names([given] if isinstance(given, str) else given)
        for given in (metrics, tasks, across)
    ]
    margins = Margins(fail_if_worse, fail_unless_within, fail_unless_equal)
    options = Options(
        metrics=names[0],
        tasks=names[1],
        by=by,
        across=names[2],
        correction=correction,
        alpha=alpha,
        power=power,
        detect=detect,
        margins=margins,
        failed=failed,
        simultaneous=simultaneous,
    )
    if len(runs) < 2:
        raise UsageError("name two runs or more: the first is the reference")
    given = [named_runs(run) for run in runs]
    for one in given:
        if one.name and [other.name for other in given].count(one.name) > 1:
            raise UsageError(f"{one.name} names two runs; give each a name of its own")
    try:
        return _compare(given, options)
    finally:
        for one in given:
            for run in one.runs:
                run.close()


def _compare(given: Sequence[NamedRuns], options: Options) -> Comparison:
    stored = [named.runs[0] for named in given]
    names = []
    for named, name in zip(given, _distinct(stored), strict=True):
        names.append(named.name or name)
    failed_is_worst = options.failed == "zero"
    runs = [
        ComparedRun(
            named.runs[0],
            name,
            options.by,
            repeats=named.runs[1:],
            failed_is_worst=failed_is_worst,
        )
        for named, name in zip(given, names, strict=True)
    ]
    rows = _chosen([run.results for run in stored], names, options)
    _want(rows, runs)

    # each two runs; those with the first one are printed
    pairs: dict[tuple[int, int], RunPair] = {}
    for i, j in combinations(range(len(runs)), 2):
        pairs[i, j] = RunPair(
            runs[i],
            runs[j],
            options.across,
            with_worst=options.margins.is_asked,
        )
    wholes: dict[Place, Compared] = {}
    for row in rows:
        for (i, j), pair in pairs.items():
            wholes[key_of(row), i, j] = pair.compare(row)
    slices = _slices_of(rows, pairs, options.by)

    # slices are a family of tests of their own
    family = Family.of(wholes, options)
    slice_family = Family.of(slices, options)
    numbers: list[Number] = []
    for row in rows:
        key = key_of(row)
        for j in range(1, len(runs)):
            place = (key, 0, j)
            compared = wholes[place]
            numbers.append(
                _number(row, place, compared, family, run=names[j], options=options)
            )
        for place, compared in slices.items():
            of_slice, _, j = place
            if of_slice._replace(slice="") != key:
                continue
            numbers.append(
                _number(
                    row,
                    place,
                    compared,
                    slice_family,
                    run=names[j],
                    options=options,
                )
            )

    of_first = [pair for (i, _), pair in pairs.items() if i == 0]
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
        repeats=tuple(named.runs[1:] for named in given),
    )


def _want(rows: Sequence[NumberRow], runs: Sequence[ComparedRun]) -> None:
    """Have the runs read the numbers that the rows are made of."""
    wanted: dict[str, set[str]] = {}
    for row in rows:
        for piece in runs[0].pieces(row.task, row.metric):
            wanted.setdefault(piece.task, set()).add(piece.number)
    for run in runs:
        run.wanted.update(wanted)


def _slices_of(
    rows: Sequence[NumberRow],
    pairs: Mapping[tuple[int, int], RunPair],
    label: str,
) -> dict[Place, Compared]:
    """The numbers by the values of a label; none without one. Raises UsageError for a
    label that no sample has."""
    if not label:
        return {}
    slices: dict[Place, Compared] = {}
    for row in rows:
        slices |= _slices(row, pairs, label)
    if not slices:
        raise UsageError(
            f"--by {label}: no sample of the compared tasks has this label",
            name="by",
        )
    return slices


def _exit_code(gate: Gate | None, numbers: Sequence[Number]) -> int:
    if gate is not None and not gate.passed:
        return EXIT_WORSE
    has_untested = any(number.verdict in _UNTESTED for number in numbers)
    return EXIT_INCOMPLETE if has_untested or not numbers else EXIT_OK


def _distinct(runs: Sequence[StoredRun]) -> list[str]:
    """The names of runs; one that is given twice gets a number."""
    names = (
        names_of(runs)
        if len({run.folder.resolve() for run in runs}) == len(runs)
        else [run.name for run in runs]
    )
    return [
        name if name not in names[:at] else f"{name} [{at + 1}]"
        for at, name in enumerate(names)
    ]


def _chosen(
    documents: Sequence[Mapping[str, Any]], names: Sequence[str], options: Options
) -> list[NumberRow]:
    """The rows to compare. Raises UsageError for a task or metric that no run has."""
    by_name = options.metrics not in ((), (ALL,))
    rows = [
        row for row in number_rows(documents, names, repeats=by_name) if not row.slice
    ]
    for flag, wanted, known in (
        ("tasks", options.tasks, {row.task for row in rows}),
        ("metrics", options.metrics if by_name else (), {row.metric for row in rows}),
    ):
        for name in wanted:
            if name not in known:
                raise UsageError(
                    f"--{flag} {name}: no run has it{did_you_mean(name, known)}",
                    name=name,
                    known=known,
                )
    rows = [row for row in rows if not options.tasks or row.task in options.tasks]
    if by_name:
        return [row for row in rows if row.metric in options.metrics]
    return [
        row
        for row in (rows if options.metrics else headline_rows(rows))
        if row.is_known
    ]


def _slices(
    row: NumberRow, pairs: Mapping[tuple[int, int], RunPair], label: str
) -> dict[Place, Compared]:
    """A task's number by the values of a label, between each run and the reference; a
    group has no slices."""
    scores = None if row.is_group else pairs[0, 1].a.scores(row.task)
    trials = {} if scores is None else scores.slices(label)
    return {
        (Key(row.task, row.metric, name), i, j): pair.compare(row, within)
        for name, within in trials.items()
        for (i, j), pair in pairs.items()
        if i == 0
    }


def _number(
    row: NumberRow,
    place: Place,
    found: Compared,
    family: Family,
    *,
    run: str,
    options: Options,
) -> Number:
    test, level = found.test, family.levels.get(place, options.alpha)
    of_interval = LEVEL
    if options.simultaneous:  # by Bonferroni
        of_interval /= max(1, len(family.adjusted))
    number = Number(
        task=row.task,
        metric=row.metric,
        slice=place[0].slice,
        run=run,
        pairs=found.pairs,
        clusters=0 if test is None else test.clusters,
        effective=None if test is None else test.effective,
        a=None if test is None else test.a,
        b=None if test is None else test.b,
        difference=None if test is None else test.difference,
        stderr=None if test is None else test.stderr,
        ci95=None if test is None else test.interval(of_interval),
        p=None if test is None else test.p,
        p_adjusted=family.adjusted.get(place),
        smallest_seen=None
        if test is None
        else test.smallest_seen(level, options.power),
        bounds=found.bounds,
        left_out=found.left_out,
        lacking={"a": dict(found.lacking[0]), "b": dict(found.lacking[1])},
        refused={"a": found.refused[0].answers, "b": found.refused[1].answers},
        judge_shift=found.shift,
        verdict="unlike" if found.is_unlike else "no_pairs",
        why=found.why,
        alias=row.alias,
        higher_is_better=row.higher_is_better,
        test=test,
        worst=found.worst,
        lost=found.lost,
        lacks_trials=found.lacks_trials,
        is_extra=found.is_extra,
        trials={"a": found.refused[0].trials, "b": found.refused[1].trials},
    )
    if test is None:
        return number
    needed = None
    if options.detect is not None:
        clusters = test.clusters_needed(options.detect, level, options.power)
        needed = (
            None
            if clusters is None
            else math.ceil(clusters * found.samples / test.clusters)
        )
    why = "; ".join(_remarks(number, options))
    equal = options.margins.fail_unless_equal
    return replace(
        number,
        verdict=_verdict(number, options),
        why=why,
        samples_needed=needed,
        equivalence_p=None if equal is None else test.equivalence_p(equal),
    )


def _verdict(number: Number, options: Options) -> Verdict:
    assert number.test is not None
    difference = (
        number.test.difference if number.higher_is_better else -number.test.difference
    )
    if (
        number.p_adjusted is not None
        and number.p_adjusted < options.alpha
        and difference
    ):
        return "better" if difference > 0 else "worse"
    return "within" if options.margins.is_within(number) else "not_seen"


def _is_steady(test: Paired) -> bool:
    """Whether a difference would be one if the samples showed how far others lie."""
    if not test.are_all_near or not test.stderr:
        return False
    return abs(test.difference) > _STEADY * test.stderr


def _of_zero(number: Number, alpha: float, *, is_find: bool) -> Iterator[str]:
    """Why an interval holds 0 beside a find, or leaves it out without one."""
    if number.ci95 is None or number.p is None:
        return
    holds_0 = number.ci95[0] <= 0 <= number.ci95[1]
    if is_find and holds_0:
        if number.p < LEVEL:
            yield "beyond chance, though its interval as one of several holds 0"
        else:
            yield f"p is below --alpha {alpha:g}, though its 95 % interval holds 0"
    elif not is_find and not holds_0:
        if number.p < alpha:
            yield "its interval leaves out 0, but it is one of several tests"
        else:
            why = f"but p is not below --alpha {alpha:g}"
            yield f"its 95 % interval leaves out 0, {why}"


def _remarks(number: Number, options: Options) -> Iterator[str]:
    """What a reader has to know before the difference is used."""
    assert number.test is not None
    is_find = number.p_adjusted is not None and number.p_adjusted < options.alpha
    yield from _of_zero(number, options.alpha, is_find=is_find)
    if (
        number.bounds is not None
        and number.bounds[0] < 0 < number.bounds[1]
        and number.left_out
        and number.difference
    ):
        yield "trials without a pair could turn the sign"
    if _is_steady(number.test) and not is_find:
        yield "steady, but changes too rare to be among the samples could outweigh it"
    if number.test.why:
        yield f"no interval: {number.test.why}"
    elif number.ci95 is None:
        yield "no interval: too few clusters or draws for several that hold together"
