"""Formats correlations: lines for a terminal, and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmeval.aggregate.statistics import Interval
from mmeval.comparison.correlation.correlate import (
    FEW_MODELS,
    MOST_PAIRED,
    Correlated,
    NumberDifference,
)
from mmeval.comparison.correlation.statistics import (
    Correlation,
    CorrelationDifference,
    Method,
)
from mmeval.results.layout import Cell, Table
from mmeval.system.wording import listed, printable, wrapped

_WIDEST_NAME = 36
_MOST_NAMED = 6
_FORMULA = {
    "pearson": "Fisher's z",
    "spearman": "Bonett and Wright",
    "kendall": "Fieller",
}


def correlated_text(correlated: Correlated, width: int) -> str:
    """Returns a line for each number and method, differences, and notes."""
    lines = []
    for position, method in enumerate(_methods(correlated)):
        lines += [method, *_of_method(correlated, position, width), ""]
    for note in _notes(correlated):
        lines += wrapped(printable(note, limit=2_000), width, "  ")
    return "".join(f"{line}\n" for line in lines)


def tables_of_correlations(correlated: Correlated) -> list[Table]:
    """Returns the correlations as tables, one for each method, and the differences."""
    counted = f"{correlated.level}s"
    name = correlated.reference.name
    tables = []
    for position, method in enumerate(_methods(correlated)):
        rows: list[tuple[Cell, ...]] = []
        for number in correlated.numbers:
            entry = number.correlations[position]
            low, high = entry.ci95 or (None, None)
            count = f"{entry.n:,}"
            row = (number.number.title, count, entry.value, low, high, entry.p)
            rows.append((*row, entry.why))
        tables.append(
            Table(
                f"{method} with {name}",
                ("number", counted, "correlation", "low", "high", "p", "note"),
                tuple(rows),
                tuple(_notes(correlated)),
            )
        )
    for method in _methods(correlated):
        rows = []
        for pair, difference in _differences(correlated, method):
            low, high = difference.ci95 or (None, None)
            row_name, count = _pair_name(pair), f"{pair.n:,}"
            rows.append((row_name, count, difference.value, low, high, difference.why))
        if rows:
            tables.append(
                Table(
                    f"{method} with {name}, differences",
                    ("number", counted, "difference", "low", "high", "note"),
                    tuple(rows),
                )
            )
    return tables


def _methods(correlated: Correlated) -> list[Method]:
    return [entry.method for entry in correlated.numbers[0].correlations]


def _differences(
    correlated: Correlated, method: Method
) -> list[tuple[NumberDifference, CorrelationDifference]]:
    pairs = []
    for pair in correlated.differences:
        for difference in pair.differences:
            if difference.method == method:
                pairs.append((pair, difference))
    return pairs


def _pair_name(pair: NumberDifference) -> str:
    return f"{_name(pair.first.title)} minus {_name(pair.second.title)}"


def _of_method(correlated: Correlated, position: int, width: int) -> Iterator[str]:
    names = [_name(number.number.title) for number in correlated.numbers]
    name_width = max(map(len, names))
    for name, number in zip(names, correlated.numbers, strict=True):
        yield f"  {name:{name_width}}  {_entry(number.correlations[position])}"
    pairs = _differences(correlated, _methods(correlated)[position])
    if pairs:
        yield "  differences"
    titles = [_pair_name(pair) for pair, _ in pairs]
    title_width = max(map(len, titles), default=0)
    for title, (_, difference) in zip(titles, pairs, strict=True):
        interval = _interval(difference.ci95) or difference.why
        numbers = f"{difference.value:+.3f}  {interval}"
        if title_width + len(numbers) + 6 <= width:
            yield f"    {title:{title_width}}  {numbers}"
        else:
            yield f"    {title}"
            yield f"      {numbers}"


def _name(title: str) -> str:
    return printable(title, limit=_WIDEST_NAME)


def _entry(entry: Correlation) -> str:
    if entry.value is None:
        return f"     -  {entry.why} (n {entry.n:,})"
    text = f"{entry.value:6.3f}  {_interval(entry.ci95) or entry.why}"
    if entry.p is not None:
        text += "  p < 0.001" if entry.p < 0.001 else f"  p {entry.p:.3f}"
    return f"{text}  n {entry.n:,}"


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return ""
    low, high = interval
    return f"{low:.3f} to {high:.3f}"


def _notes(correlated: Correlated) -> Iterator[str]:
    names = ", ".join(_methods(correlated))
    if correlated.level == "model":
        formulas = [_FORMULA[method] for method in _methods(correlated)]
        yield f"Intervals at 95 %: {', '.join(formulas)}; of differences: resampled."
    else:
        yield f"Intervals at 95 % of {names}: clusters of samples are resampled."
    if correlated.level == "model" and len(correlated.numbers) > MOST_PAIRED:
        yield f"Differences of more than {MOST_PAIRED} numbers: to the first only."
    if correlated.has_few_models:
        yield f"With fewer than {FEW_MODELS} models, one model can turn the order."
    if correlated.unused:
        yield (
            f"Not used: {correlated.unused:,} of {correlated.rated:,} rated trials, "
            "which have no score here."
        )
    yield from _unmatched("Not in", correlated, correlated.without)
    yield from _unmatched("Only in", correlated, correlated.only_there)


def _unmatched(
    where: str, correlated: Correlated, models: Sequence[str]
) -> Iterator[str]:
    if models:
        name = correlated.reference.name
        yield f"{where} {name}: {listed(models, _MOST_NAMED)}."
