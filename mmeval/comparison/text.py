"""Formats a comparison as text in at most 80 columns, and as tables for papers and
scripts."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase
from typing import Any

from mmeval.comparison.changes import Change
from mmeval.comparison.compare import Comparison, ComparisonOptions
from mmeval.comparison.number import ComparedNumber
from mmeval.comparison.pairing import ASKED_OTHERWISE, NOT_ASKED
from mmeval.comparison.ranking import ALPHA, Ranking
from mmeval.comparison.run_pair import ONE_SIDED, TASKS
from mmeval.comparison.verdict import verdict_sentences
from mmeval.report.short_table import number_text
from mmeval.results.layout import Cell, Table
from mmeval.system.wording import listed, printable

_LABEL = 10
_MOST_NAMED = 3
_WIDEST_CELL = 9
_WIDEST_NAME = 12
_OF_BOTH = {
    ASKED_OTHERWISE: "with different prompts",
    TASKS: "tasks of a group without pairs",
}
"""The reasons that concern both runs."""
_WHY_FAILED = {
    "worse": "worse",
    "not_shown": "not shown to be within it",
    "lost": "lost trials might hide it",
    "untested": "not tested, or too few samples to detect a difference",
}


def comparison_text(comparison: Comparison, width: int) -> str:
    """Returns the text that the command prints for a comparison."""
    changed = [_change(comparison, change) for change in comparison.changes.changed]
    # letters stand for the runs if one of their names is too long for the table
    letters: dict[str, str] = {}
    limit = _WIDEST_NAME if len(comparison.runs) > 2 else _WIDEST_CELL
    has_long_name = max(map(len, comparison.names)) > limit
    if has_long_name and len(comparison.names) <= len(ascii_lowercase):
        letters = dict(zip(comparison.names, ascii_lowercase, strict=False))

    lines = []
    for sentence in verdict_sentences(comparison):
        lines += _wrapped("verdict", f"{sentence}.", width)
    gate = " ".join(gate_sentences(comparison))
    if gate:
        lines += _wrapped("gate", gate, width)
    lines += _wrapped("same", ", ".join(comparison.changes.same) or "nothing", width)
    lines += _wrapped("changed", "; ".join(changed) or "nothing", width)
    for name, letter in letters.items():
        lines += _wrapped(letter, name, width)
    for text in comparison.changes.counted:
        lines += _wrapped("counted", text, width)
    lines.append("")
    lines += _table(comparison, letters or _short(comparison.names, limit))
    for note in _notes(comparison):
        lines += _folded(note, width)
    for ranking in comparison.rankings:
        lines.append("")
        lines += _ranking(ranking, comparison.names, comparison.options, width)
    return "".join(f"{line}\n" for line in lines)


def _change(comparison: Comparison, change: Change) -> str:
    text = change.what
    if change.before or change.now:
        text += f" {change.before} -> {change.now}"
    if len(comparison.runs) > 2 and change.what != "model":
        text += f" ({change.run})"
    return text


def _wrapped(
    label: str,
    text: str,
    width: int,
) -> list[str]:
    return textwrap.wrap(
        printable(text, limit=2_000),
        width,
        initial_indent=f"{label:{_LABEL}}",
        subsequent_indent=" " * _LABEL,
    )


def _folded(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent="   ", subsequent_indent="   ")


def _table(comparison: Comparison, short: Mapping[str, str]) -> list[str]:
    """Returns a line for each number of each run, below the name of the number.
    ``short`` maps the runs to their short names."""
    several = len(comparison.runs) > 2
    numbers = [number for number in comparison.numbers if number.why != ONE_SIDED]
    if not numbers:
        return []
    heads = ["run", "pairs", "value"] if several else ["pairs", *comparison.names]
    rows = [[*heads, "difference, 95 %", "p", "detects", "verdict"]]
    for number in numbers:
        difference = "-" if number.difference is None else signed(number.difference)
        interval = ""
        if number.ci95 is not None:
            low, high = number.ci95
            interval = f"  {number_text(low)} to {number_text(high)}"
        pairs = f"{number.pairs:,}"
        first = [number.run, pairs] if several else [pairs, number_text(number.a)]
        row = [
            *first,
            number_text(number.b),
            difference + interval.ljust(18),
            "-" if number.has_too_few else p_text(number.p_adjusted),
            number_text(number.smallest_seen),
            "too few" if number.has_too_few else number.verdict.replace("_", " "),
        ]
        rows.append(row)
    shown = []
    for row in rows:
        cells = []
        for position, cell in enumerate(row):
            limit = 40 if position > 2 else _WIDEST_CELL
            if several and position == 0:
                limit = _WIDEST_NAME
            cells.append(printable(short.get(cell, cell), limit=limit))
        shown.append(cells)
    widths = []
    for column in zip(*shown, strict=True):
        widths.append(max(map(len, column)))
    lines = [_laid(shown[0], widths, several=several)]
    before = None
    for number, row in zip(numbers, shown[1:], strict=True):
        name = (number.task, number.metric, number.slice)
        if name != before:
            heading = number.slice or f"{number.alias}, {number.metric}"
            indent = "  " if number.slice else ""
            lines.append(f"{indent}{printable(heading, limit=76)}")
        before = name
        lines.append(_laid(row, widths, several=several))
    return lines


def _short(names: Sequence[str], limit: int) -> dict[str, str]:
    """Returns short names. If names have the same beginning, they are cut in the
    middle."""
    short = {name: printable(name, limit=limit) for name in names}
    counts = Counter(short.values())
    end = limit // 2
    for name in short:
        if counts[short[name]] > 1:
            ending = printable(name[-end:], limit=end)
            short[name] = printable(name, limit=limit - end) + ending
    return short


def _laid(
    row: Sequence[str],
    widths: Sequence[int],
    *,
    several: bool,
) -> str:
    is_text = [several, *[False] * (len(row) - 2), True]
    cells = []
    for cell, width, is_left in zip(row, widths, is_text, strict=True):
        cells.append(cell.ljust(width) if is_left else cell.rjust(width))
    return "  ".join(cells).rstrip()


def signed(value: float) -> str:
    """Returns a difference with its sign."""
    return number_text(value) if value < 0 else f"+{number_text(value)}"


def p_text(value: float | None) -> str:
    """Returns a p as it is usually printed: without the zero before the point."""
    if value is None:
        return "-"
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _notes(comparison: Comparison) -> Iterator[str]:
    """Yields one line for each note about tests, missing numbers and remarks."""
    yield from notes_on_tests(comparison, "detects")
    alike: dict[str, list[str]] = {}
    for number in comparison.numbers:
        note = "; ".join(remarks_on(number, comparison))
        if note:
            alike.setdefault(note, []).append(_number_name(number))
    for note, numbers in alike.items():
        first_names = "; ".join(numbers[:_MOST_NAMED])
        more = len(numbers) - _MOST_NAMED
        yield (
            f"{first_names} and {more} more: {note}."
            if more > 0
            else f"{first_names}: {note}."
        )
    detect = comparison.options.detect
    if detect is not None:
        for number in comparison.numbers:
            if number.p_adjusted is not None:
                lead = f"{_number_name(number)}: samples to detect {detect:g}"
                yield f"{lead}: {_needed(number)}."


def notes_on_tests(comparison: Comparison, sees: str = "sees") -> Iterator[str]:
    """Yields notes on all tests, and on the numbers that only one run has. ``sees`` is
    the label of the smallest difference that is detected."""
    names = {"holm": "Holm", "bh": "Benjamini and Hochberg", "none": "not corrected"}
    options = comparison.options
    if any(number.p_adjusted is not None for number in comparison.numbers):
        wholes, slices = comparison.tests
        over = f"tests: {wholes:,}"
        if slices:
            over += f", of slices: {slices:,}"
        yield (
            f"p: {names[options.correction]}, {over}; "
            f"{sees}: the smallest difference found with {100 * options.power:g} % "
            "power."
        )
        if options.simultaneous:
            apart = ", those of slices separately" if slices else ""
            yield f"The intervals hold jointly in 95 % of cases{apart}."
    one_sided: dict[str, dict[str, None]] = {}
    for number in comparison.numbers:
        if number.why == ONE_SIDED:
            run = comparison.names[0] if number.is_extra else number.run
            name = f"{number.slice or number.alias} {number.metric}"
            # an extra number occurs once for each run that has it
            one_sided.setdefault(run, {})[name] = None
    for run, names_of_run in one_sided.items():
        yield f"Not in {printable(run, limit=40)}: {_places(list(names_of_run))}."


def notes_on_settings(comparison: Comparison) -> Iterator[str]:
    """Yields the settings and data that are the same, and those that changed."""
    changes = comparison.changes
    changed = [_change(comparison, change) for change in changes.changed]
    yield f"Same: {', '.join(changes.same) or 'nothing'}."
    yield f"Changed: {'; '.join(changed) or 'nothing'}."
    for text in changes.counted:
        yield f"Counted: {text}."


def _needed(number: ComparedNumber) -> str:
    if number.samples_needed is not None:
        return f"{number.samples_needed:,}"
    if number.stderr == 0:
        return "unknown, as all samples differ by the same amount"
    return "unknown"


def gate_sentences(comparison: Comparison) -> Iterator[str]:
    """Yields the result of the gate, if there is one. With several runs, the run of
    each number is named."""
    gate = comparison.gate
    if gate is None:
        return
    titles: dict[tuple[str, str, str], str] = {}
    for number in comparison.numbers:
        titles[number.task, number.metric, number.slice] = number.title

    def place(row: Mapping[str, Any]) -> str:
        title = titles[row["task"], row["metric"], row["slice"]]
        return f"{title} of {row['run']}" if len(comparison.runs) > 2 else title

    by_reason: dict[str, list[str]] = {}
    for row in gate.failed:
        by_reason.setdefault(row["reason"], []).append(place(row))
    lead = f"--{gate.name} {gate.margin:g}"
    if gate.passed:
        yield f"{lead}: passed."
    elif not gate.tested:
        yield f"{lead}: failed, as no number could be tested."
    else:
        failed = []
        for reason, places in by_reason.items():
            failed.append(f"{_places(places)} ({_WHY_FAILED[reason]})")
        yield f"{lead}: failed by {'; '.join(failed)}."
    if gate.too_weak:
        weak = _places([place(row) for row in gate.too_weak])
        yield f"Too few samples to detect {gate.margin:g}: {weak}."


def _places(names: Sequence[str]) -> str:
    return listed([printable(name, limit=100) for name in names], _MOST_NAMED)


def _number_name(number: ComparedNumber) -> str:
    name = f"{number.slice or number.alias}, {number.metric}, {number.run}"
    return printable(name, limit=200)


def remarks_on(number: ComparedNumber, comparison: Comparison) -> Iterator[str]:
    """Yields what a reader should know about one number: missing pairs, refusals,
    doubts about its test, and the effect of the judge."""
    if number.why == ONE_SIDED:
        return
    reference = comparison.names[0]
    if number.left_out and not number.slice:
        yield "no pair: " + ", ".join(_missing(number, reference))
        both = (number.difference, number.difference)
        if number.bounds is not None and number.bounds != both:
            low, high = number.bounds
            yield f"with them the difference is {signed(low)} to {signed(high)}"
    if any(number.refused.values()):
        refused, trials = number.refused, number.trials
        yield (
            f"refused {refused['a']:,}/{trials['a']:,} in {reference}, "
            f"{refused['b']:,}/{trials['b']:,} in {number.run}"
        )
    if number.why:
        yield printable(number.why, limit=300)
    if number.judge_shift is not None:
        shift = number.judge_shift
        words = f"the judge alone changes it by {signed(shift['difference'])}"
        if shift["ci95"] is not None:
            low, high = shift["ci95"]
            words += f" ({number_text(low)} to {number_text(high)})"
        words += f" over {shift['pairs']:,} equal answers"
        rest = shift["rest"]
        if rest is not None:
            difference = signed(rest["difference"])
            words += f", {difference} over the other {rest['pairs']:,}"
        yield words


def _missing(number: ComparedNumber, reference: str) -> Iterator[str]:
    """Yields the numbers of unpaired trials, by reason and by run."""
    sides = ((number.lacking["a"], reference), (number.lacking["b"], number.run))
    for counts, run in sides:
        for reason, count in counts.items():
            words = "not asked" if reason == NOT_ASKED else reason
            yield f"{count:,} {words} in {run}"
    for reason, words in _OF_BOTH.items():
        if number.left_out.get(reason):
            yield f"{number.left_out[reason]:,} {words}"


def _ranking(
    ranking: Ranking, names: Sequence[str], options: ComparisonOptions, width: int
) -> Iterator[str]:
    trials = "not ranked"
    if ranking.is_ranked:
        trials = f"trials of all runs: {ranking.pairs:,}"
    title = f"{ranking.task}, {ranking.metric}; {trials}"
    yield from textwrap.wrap(printable(title, limit=200), width)
    if ranking.is_ranked:
        runs = [ranked.run for ranked in ranking.runs]
        name_width = min(max(map(len, runs)), width - 30)
        short = _short(runs, name_width)
        for ranked in ranking.runs:
            places = "-"
            if ranked.ci95 is not None:
                first, last = ranked.ci95
                places = str(first) if first == last else f"{first} to {last}"
            name = f"{short[ranked.run]:{name_width}}"
            value = f"{number_text(ranked.value):>8}"
            yield f"{ranked.rank:>4}  {name}  {value}  rank {places}"
    for note in _ranking_notes(ranking, options):
        yield from _folded(printable(note, limit=2_000), width)
    if ranking.is_ranked:
        yield from _matrix(ranking, names, options.alpha, width)


def _ranking_notes(ranking: Ranking, options: ComparisonOptions) -> list[str]:
    """Returns notes on why runs have no rank or no interval, and on which runs are
    indistinguishable."""
    by_why: dict[str, list[str]] = {}
    for run in ranking.runs:
        if run.why:
            by_why.setdefault(run.why, []).append(run.run)
    notes = []
    for why, runs in by_why.items():
        if len(runs) == len(ranking.runs):
            notes.append(f"{why[0].upper()}{why[1:]}.")
            return notes  # without a test there are no groups
        notes.append(f"{', '.join(runs)}: {why}.")
    together = [", ".join(group) for group in ranking.groups if len(group) > 1]
    if together:
        notes.append(f"Not distinguishable: {'; '.join(together)}.")
    if (options.correction, options.alpha) != ("holm", ALPHA):
        notes.append(
            "The intervals of all ranks hold jointly. They are corrected by Holm at "
            f"{ALPHA:g}, regardless of --correction and --alpha."
        )
    return notes


def _matrix(
    ranking: Ranking, names: Sequence[str], alpha: float, width: int
) -> Iterator[str]:
    """Yields the differences of all runs, in the order of the ranking. A difference is
    the value of the column's run minus the value of the row's run."""
    order = [names.index(ranked.run) for ranked in ranking.runs]
    count = len(order)
    if 4 + 8 * count > width:
        yield from _folded(
            "--format json or markdown shows the differences of all runs with their "
            "corrected p.",
            width,
        )
        return
    yield "    " + "".join(f"{number:>8}" for number in range(1, count + 1))
    for number, i in enumerate(order, 1):
        line = f"{number:>4}"
        for j in order:
            cell = ranking.differences[i][j]
            if cell is None:
                line += " " * 8
                continue
            p = cell["p_adjusted"]
            mark = "*" if p is not None and p < alpha else " "
            line += f"{cell['difference']:+7.3f}{mark}"
        yield line.rstrip()
    yield from _folded(
        "Column minus row, in the order above; *: beyond chance, corrected.", width
    )


def tables_of_comparison(comparison: Comparison) -> list[Table]:
    """Returns a comparison as tables. They contain the numbers and, if there are
    several runs, each ranking with its matrix of differences."""
    headers = (
        "number",
        "run",
        "verdict",
        "pairs",
        "clusters",
        comparison.names[0],
        "value",
        "difference",
        "low",
        "high",
        "p corrected",
        "sees",
        "stderr",
        "p",
        "bounds low",
        "bounds high",
        "why",
    )
    rows = [_row(number) for number in comparison.numbers]
    notes = [
        *notes_on_settings(comparison),
        *_notes(comparison),
        *gate_sentences(comparison),
    ]
    title = f"Compared with {comparison.names[0]}"
    tables = [Table(title, headers, tuple(rows), tuple(notes), digits=4)]
    for ranking in comparison.rankings:
        name = f"{ranking.task}, {ranking.metric}"
        ranked: list[tuple[Cell, ...]] = []
        for run in ranking.runs:
            places = (run.rank, *(run.ci95 or (None, None)))
            cells = ["" if place is None else str(place) for place in places]
            ranked.append((run.run, run.value, *cells))
        tables.append(
            Table(
                f"Ranking by {name}",
                ("run", "value", "rank", "from", "to"),
                tuple(ranked),
                tuple(_ranking_notes(ranking, comparison.options)),
                digits=4,
            )
        )
        matrix: list[tuple[Cell, ...]] = []
        for run_name, differences in zip(
            comparison.names, ranking.differences, strict=True
        ):
            cells = []
            for cell in differences:
                if cell is None:
                    cells.append("")
                else:
                    cells.append(
                        f"{cell['difference']:+.4f}, p {p_text(cell['p_adjusted'])}"
                    )
            matrix.append((run_name, *cells))
        tables.append(
            Table(
                f"Differences by {name}: column minus row, corrected p",
                ("run", *comparison.names),
                tuple(matrix),
                digits=4,
            )
        )
    return tables


def _row(number: ComparedNumber) -> tuple[Cell, ...]:
    name = f"{number.task}, {number.metric}"
    if number.slice:
        name += f", {number.slice}"
    ends = number.ci95 or (None, None)
    bounds = number.bounds or (None, None)
    return (
        name,
        number.run,
        number.verdict,
        f"{number.pairs}",
        f"{number.clusters}",
        number.a,
        number.b,
        number.difference,
        *ends,
        number.p_adjusted,
        number.smallest_seen,
        number.stderr,
        number.p,
        *bounds,
        number.why,
    )
