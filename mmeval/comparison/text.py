"""A comparison as text in at most 80 columns, and as tables for papers and scripts."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase

from mmeval.comparison.compare import Comparison, Options
from mmeval.comparison.gates import Gate
from mmeval.comparison.number import Number
from mmeval.comparison.pairing import ASKED_OTHERWISE, NOT_ASKED
from mmeval.comparison.ranking import ALPHA, RankedRun, Ranking
from mmeval.comparison.run_pair import ONE_SIDED, TASKS
from mmeval.report.short_table import number_text
from mmeval.results.layout import Cell, Table
from mmeval.system.wording import listed, printable

_LABEL = 10
_MOST_NAMED = 3
_WIDEST_CELL = 9
_WIDEST_NAME = 12
_OF_BOTH = {
    ASKED_OTHERWISE: "asked differently",
    TASKS: "tasks of a group without pairs",
}
"""The reasons that concern no run more than the other."""
_WHY_FAILED = {
    "worse": "worse",
    "not_shown": "not shown to be within it",
    "lost": "lost trials might hide it",
    "untested": "not tested, or too few samples to find anything",
}


def comparison_text(found: Comparison, width: int) -> str:
    """All of a comparison, as the command prints it."""
    changed = [_change(found, at) for at in range(len(found.changes.changed))]
    letters = _letters(found)
    lines = [
        *_wrapped("same", ", ".join(found.changes.same) or "nothing", width),
        *_wrapped("changed", "; ".join(changed) or "nothing", width),
        *(
            line
            for name, letter in letters.items()
            for line in _wrapped(letter, name, width)
        ),
        *(
            line
            for text in found.changes.counted
            for line in _wrapped("counted", text, width)
        ),
        "",
        *_table(found, letters),
        *(line for note in _notes(found) for line in _folded(note, width)),
        *(
            line
            for one in found.rankings
            for line in ("", *_ranking(one, found.names, found.options, width))
        ),
    ]
    return "".join(f"{line}\n" for line in lines)


def _change(found: Comparison, at: int) -> str:
    change = found.changes.changed[at]
    run = f" ({change.run})" if len(found.runs) > 2 and change.what != "model" else ""
    values = f" {change.before} -> {change.now}" if change.before or change.now else ""
    return f"{change.what}{values}{run}"


def _wrapped(label: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        printable(text, limit=2_000),
        width,
        initial_indent=f"{label:{_LABEL}}",
        subsequent_indent=" " * _LABEL,
    )


def _folded(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent="   ", subsequent_indent="   ")


def _letters(found: Comparison) -> dict[str, str]:
    """What runs are called in the table, where the name of one is too long for it."""
    limit = _WIDEST_NAME if len(found.runs) > 2 else _WIDEST_CELL
    if max(map(len, found.names)) <= limit or len(found.names) > len(ascii_lowercase):
        return {}
    return dict(zip(found.names, ascii_lowercase, strict=False))


def _table(found: Comparison, letters: Mapping[str, str]) -> list[str]:
    """A line for each number of each run, below the name of the number."""
    several = len(found.runs) > 2
    numbers = [number for number in found.numbers if not _one_sided(number)]
    if not numbers:
        return []
    heads = ["run", "pairs", "value"] if several else ["pairs", *found.names]
    rows = [[*heads, "difference, 95 %", "p", "sees", ""]]
    rows += [_cells(number, several=several) for number in numbers]
    short = letters or _short(found.names, _WIDEST_NAME if several else _WIDEST_CELL)
    shown = [
        [
            printable(
                short.get(cell, cell),
                limit=_WIDEST_NAME
                if several and not at
                else 40
                if at > 2
                else _WIDEST_CELL,
            )
            for at, cell in enumerate(row)
        ]
        for row in rows
    ]
    widths = [max(len(row[at]) for row in shown) for at in range(len(shown[0]))]
    lines = ["  ".join(_laid(shown[0], widths, several=several)).rstrip()]
    before = None
    for number, row in zip(numbers, shown[1:], strict=True):
        name = (number.task, number.metric, number.slice)
        if name != before:
            lines.append(f"  {_heading(number)}" if number.slice else _heading(number))
        before = name
        lines.append("  ".join(_laid(row, widths, several=several)).rstrip())
    return lines


def _short(names: Sequence[str], limit: int) -> dict[str, str]:
    """Names in short, cut in the middle where they begin alike."""
    cut = {name: printable(name, limit=limit) for name in names}
    counts = Counter(cut.values())
    end = limit // 2
    return {
        name: short
        if counts[short] == 1
        else printable(name, limit=limit - end) + printable(name[-end:], limit=end)
        for name, short in cut.items()
    }


def _heading(number: Number) -> str:
    return printable(number.slice or f"{number.alias}, {number.metric}", limit=76)


def _laid(row: Sequence[str], widths: Sequence[int], *, several: bool) -> list[str]:
    is_text = [several, *[False] * (len(row) - 2), True]
    return [
        cell.ljust(width) if left else cell.rjust(width)
        for cell, width, left in zip(row, widths, is_text, strict=True)
    ]


def _cells(number: Number, *, several: bool) -> list[str]:
    shown = "-" if number.difference is None else _signed(number.difference)
    interval = (
        ""
        if number.ci95 is None
        else f"  {number_text(number.ci95[0])} to {number_text(number.ci95[1])}"
    )
    shown += interval.ljust(18)
    return [
        *([number.run] if several else []),
        f"{number.pairs:,}",
        *([] if several else [number_text(number.a)]),
        number_text(number.b),
        shown,
        _p(number.p_adjusted),
        number_text(number.smallest_seen),
        number.verdict.replace("_", " "),
    ]


def _signed(value: float) -> str:
    return number_text(value) if value < 0 else f"+{number_text(value)}"


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _notes(found: Comparison) -> Iterator[str]:
    """What the numbers rest on, and what they lack, a line each."""
    tested = [number for number in found.numbers if number.p_adjusted is not None]
    names = {"holm": "Holm", "bh": "Benjamini and Hochberg", "none": "not corrected"}
    options = found.options
    if tested:
        wholes, slices = found.tests
        over = f"tests: {wholes:,}"
        if slices:
            over += f", of slices: {slices:,}"
        yield (
            f"p: {names[options.correction]}, {over}; "
            f"sees: the smallest difference seen with {100 * options.power:g} % power."
        )
        if options.simultaneous:
            apart = "; those of slices apart" if slices else ""
            yield f"Intervals: all of them hold together in 95 %{apart}."
    one_sided: dict[str, dict[str, None]] = {}
    for number in found.numbers:
        if _one_sided(number):
            lacking = found.names[0] if number.is_extra else number.run
            name = f"{number.slice or number.alias} {number.metric}"
            # an extra one is there for each run that has it
            one_sided.setdefault(lacking, {})[name] = None
    for run, names_of_run in one_sided.items():
        yield f"Not in {printable(run, limit=40)}: {_places(list(names_of_run))}."
    alike: dict[str, list[str]] = {}
    for number in found.numbers:
        if not _one_sided(number) and (
            note := "; ".join(_of_number(number, found.names[0]))
        ):
            alike.setdefault(note, []).append(_named(number))
    for note, those in alike.items():
        more = (
            f" and {len(those) - _MOST_NAMED} more" if len(those) > _MOST_NAMED else ""
        )
        yield f"{'; '.join(those[:_MOST_NAMED])}{more}: {note}."
    if options.detect is not None:
        for number in tested:
            needed = f"samples to see {options.detect:g}: {_needed(number)}"
            yield f"{_named(number)}: {needed}."
    if found.gate is not None:
        yield from _of_gate(found.gate, several=len(found.runs) > 2)


def _needed(number: Number) -> str:
    if number.samples_needed is not None:
        return f"{number.samples_needed:,}"
    if number.stderr == 0:
        return "unknown, as all samples differ alike"
    return "unknown"


def _of_gate(gate: Gate, *, several: bool) -> Iterator[str]:
    """What a gate found; ``several`` runs are named with each number."""
    by_reason: dict[str, list[str]] = {}
    for row in gate.failed:
        place = _place(row, several=several)
        by_reason.setdefault(str(row["reason"]), []).append(place)
    lead = f"--{gate.name} {gate.margin:g}"
    if gate.passed:
        yield f"{lead}: passed."
    elif not gate.tested:
        yield f"{lead}: failed, as nothing could be tested."
    else:
        failed = (
            f"{_places(places)} ({_WHY_FAILED[reason]})"
            for reason, places in by_reason.items()
        )
        yield f"{lead}: failed by {'; '.join(failed)}."
    if gate.too_weak:
        weak = [_place(row, several=several) for row in gate.too_weak]
        yield (
            f"Too weak to see {gate.margin:g}: {_places(weak)}. More samples are "
            "needed."
        )


def _place(row: dict[str, object], *, several: bool) -> str:
    place = f"{row['slice'] or row['task']} {row['metric']}"
    return f"{place} of {row['run']}" if several else place


def _places(names: Sequence[str]) -> str:
    return listed([printable(name, limit=100) for name in names], _MOST_NAMED)


def _named(number: Number) -> str:
    return printable(
        f"{number.slice or number.alias}, {number.metric}, {number.run}", limit=200
    )


def _one_sided(number: Number) -> bool:
    return number.why == ONE_SIDED


def _of_number(number: Number, reference: str) -> Iterator[str]:
    if number.left_out and not number.slice:
        yield "no pair: " + ", ".join(_lacking(number, reference))
        if number.bounds is not None and number.bounds != (
            number.difference,
            number.difference,
        ):
            yield (
                f"with them {_signed(number.bounds[0])} to {_signed(number.bounds[1])}"
            )
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
        interval = ""
        if shift["ci95"] is not None:
            low, high = shift["ci95"]
            interval = f" ({number_text(low)} to {number_text(high)})"
        rest = shift["rest"]
        others = (
            ""
            if rest is None
            else f", {_signed(rest['difference'])} over the other {rest['pairs']:,}"
        )
        yield (
            f"the judge alone shifts it by {_signed(shift['difference'])}{interval} "
            f"over {shift['pairs']:,} answers "
            f"that are the same{others}"
        )


def _lacking(number: Number, reference: str) -> Iterator[str]:
    """Why trials are in no pair, by reason and by the run that it concerns."""
    sides = (
        (number.lacking["a"], reference, number.run),
        (number.lacking["b"], number.run, reference),
    )
    for lacking, run, other in sides:
        for reason, count in lacking.items():
            if reason == NOT_ASKED:
                yield f"{count:,} asked in {other} only"
            else:
                yield f"{count:,} {reason} in {run}"
    for reason, words in _OF_BOTH.items():
        if number.left_out.get(reason):
            yield f"{number.left_out[reason]:,} {words}"


def _ranking(
    ranking: Ranking, names: Sequence[str], options: Options, width: int
) -> Iterator[str]:
    trials = (
        f"trials of all runs: {ranking.pairs:,}" if ranking.is_ranked else "not ranked"
    )
    title = f"{ranking.task}, {ranking.metric}; {trials}"
    yield from textwrap.wrap(printable(title, limit=200), width)
    notes = _ranking_notes(ranking, options)
    if not ranking.is_ranked:
        for note in notes:
            yield from _folded(printable(note, limit=2_000), width)
        return
    longest = max(len(one.run) for one in ranking.runs)
    name_width = min(longest, width - 30)
    short = _short([one.run for one in ranking.runs], name_width)
    for one in ranking.runs:
        yield (
            f"{one.rank:>4}  "
            f"{short[one.run]:{name_width}}"
            f"  {number_text(one.value):>8}  rank {_rank_interval(one)}"
        )
    for note in notes:
        yield from _folded(printable(note, limit=2_000), width)
    yield from _matrix(ranking, names, options.alpha, width)


def _rank_interval(run: RankedRun) -> str:
    if run.ci95 is None:
        return "-"
    first, last = run.ci95
    return str(first) if first == last else f"{first} to {last}"


def _ranking_notes(ranking: Ranking, options: Options) -> list[str]:
    """Why runs have no rank or no interval of it, which are not distinguishable, and
    by what."""
    by_why: dict[str, list[str]] = {}
    for run in ranking.runs:
        if run.why:
            by_why.setdefault(run.why, []).append(run.run)
    notes = []
    for why, those in by_why.items():
        if len(those) == len(ranking.runs):
            notes.append(f"{why[0].upper()}{why[1:]}.")
            return notes  # of groups nothing is known
        notes.append(f"{', '.join(those)}: {why}.")
    together = [", ".join(group) for group in ranking.groups if len(group) > 1]
    if together:
        notes.append(f"Not distinguishable: {'; '.join(together)}.")
    if (options.correction, options.alpha) != ("holm", ALPHA):
        notes.append(
            f"Ranks hold for all runs at once: by Holm at {ALPHA:g}, whatever "
            "--correction and --alpha are."
        )
    return notes


def _matrix(
    ranking: Ranking, names: Sequence[str], alpha: float, width: int
) -> Iterator[str]:
    """The difference of each two runs, in the order of the ranking: the column's minus
    the row's."""
    order = [names.index(one.run) for one in ranking.runs]
    count = len(order)
    if 4 + 8 * count > width:
        yield from _folded(
            "The differences of each two, with their corrected p: --format json or "
            "markdown.",
            width,
        )
        return
    yield "    " + "".join(f"{number:>8}" for number in range(1, count + 1))
    for number, i in enumerate(order, 1):
        cells = []
        for j in order:
            cell = ranking.differences[i][j]
            p = None if cell is None else cell["p_adjusted"]
            mark = "*" if p is not None and p < alpha else " "
            cells.append(
                f"{'':8}" if cell is None else f"{cell['difference']:+7.3f}{mark}"
            )
        yield f"{number:>4}{''.join(cells)}".rstrip()
    yield from _folded(
        "Column minus row, in the order above; *: beyond chance, corrected.", width
    )


def tables_of_comparison(found: Comparison) -> list[Table]:
    """The same as tables: the numbers, and of several runs each ranking and its
    matrix."""
    headers = (
        "number",
        "run",
        "verdict",
        "pairs",
        "clusters",
        found.names[0],
        "value",
        "difference",
        "low",
        "high",
    )
    more = ("p corrected", "sees", "stderr", "p", "bounds low", "bounds high", "why")
    rows = [_row(number) for number in found.numbers]
    same = f"Same: {', '.join(found.changes.same) or 'nothing'}."
    changed = "; ".join(_change(found, at) for at in range(len(found.changes.changed)))
    counted_so = (f"Counted: {text}." for text in found.changes.counted)
    notes = (same, f"Changed: {changed or 'nothing'}.", *counted_so, *_notes(found))
    tables = [
        Table(
            f"Compared with {found.names[0]}",
            (*headers, *more),
            tuple(rows),
            notes,
            digits=4,
        )
    ]
    for one in found.rankings:
        title = f"{one.task}, {one.metric}"
        ranked = []
        for run in one.runs:
            places = (run.rank, *(run.ci95 or (None, None)))
            cells = ["" if place is None else str(place) for place in places]
            ranked.append((run.run, run.value, *cells))
        tables.append(
            Table(
                f"Ranking by {title}",
                ("run", "value", "rank", "from", "to"),
                tuple(ranked),
                tuple(_ranking_notes(one, found.options)),
                digits=4,
            )
        )
        matrix = tuple(
            (
                name,
                *(
                    ""
                    if cell is None
                    else _cell(cell["difference"], cell["p_adjusted"])
                    for cell in row
                ),
            )
            for name, row in zip(found.names, one.differences, strict=True)
        )
        tables.append(
            Table(
                f"Differences by {title}: column minus row, corrected p",
                ("run", *found.names),
                matrix,
                digits=4,
            )
        )
    return tables


def _cell(difference: float | None, p: float | None) -> str:
    return "" if difference is None else f"{difference:+.4f}, p {_p(p)}"


def _row(number: Number) -> tuple[Cell, ...]:
    name = f"{number.task}, {number.metric}" + (
        f", {number.slice}" if number.slice else ""
    )
    ends = tuple(number.ci95 or (None, None))
    bounds = tuple(number.bounds or (None, None))
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
