r"""A table for LaTeX with booktabs rules, to ``\input`` into a table environment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from mmeval.records.score import Result
from mmeval.results.numbers import NumberRow
from mmeval.system.wording import printable

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
}
_CHARS = re.compile("|".join(map(re.escape, _SPECIAL)))
MAX_CHARS = 300
NONE = "--"


def latex_table(rows: Sequence[NumberRow], names: Sequence[str]) -> str:
    """Values with their 95 % intervals, with their notes below the table, by
    letters."""
    notes = list(dict.fromkeys(row.notes for row in rows if row.notes))
    return booktabs(
        f"ll{'r' * len(names)}",
        ("Task", "Metric", *map(latex_text, names)),
        _body(rows, notes),
        (f"{_letter(at)} {latex_text(note)}" for at, note in enumerate(notes)),
    )


def booktabs(
    columns: str,
    headers: Iterable[str],
    rows: Iterable[Sequence[str]],
    notes: Iterable[str],
) -> str:
    """A table of cells that are written for LaTeX, with the rules of booktabs and its
    notes below."""
    lines = [
        r"% \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        rf"{' & '.join(headers)} \\",
        r"\midrule",
        *(rf"{' & '.join(row)} \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par{{\footnotesize {note}\par}}" for note in notes),
    ]
    return "\n".join(lines) + "\n"


def latex_text(text: str) -> str:
    """Text from outside in which nothing is a command."""
    return _CHARS.sub(
        lambda found: _SPECIAL[found[0]], printable(text, limit=MAX_CHARS)
    )


def _body(rows: Sequence[NumberRow], notes: Sequence[str]) -> Iterator[list[str]]:
    last = ""
    for row in rows:
        name = f"{row.task} {row.slice}"
        shown = (
            "" if name == last else rf"\hspace*{{{row.depth}em}}{latex_text(row.label)}"
        )
        mark = _letter(notes.index(row.notes)) if row.notes else ""
        direction = r"$\uparrow$" if row.higher_is_better else r"$\downarrow$"
        yield [
            shown,
            f"{latex_text(row.metric)} {direction}{mark}",
            *map(_number, row.results, row.absent),
        ]
        last = name


def _number(result: Result | None, absent: str) -> str:
    if result is None:
        return absent
    if result.value is None:
        return NONE
    interval = (
        ""
        if result.interval is None
        else rf" {{\scriptsize [{result.interval[0]:.3f}, {result.interval[1]:.3f}]}}"
    )
    return f"{result.value:.3f}{interval}"


def _letter(at: int) -> str:
    """a, b, ... z, aa, ab, ... as a raised mark."""
    letters = ""
    at += 1
    while at:
        at, rest = divmod(at - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return rf"\textsuperscript{{{letters}}}"
