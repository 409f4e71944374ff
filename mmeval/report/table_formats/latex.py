r"""A table for LaTeX with booktabs rules, to ``\input`` into a table environment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mmeval.records.score import Result
from mmeval.report.numbers import NumberRow
from mmeval.wording import printable

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
    """Values with their 95 % intervals, with their notes below the table, by letters."""
    notes = list(dict.fromkeys(row.notes for row in rows if row.notes))
    lines = [
        r"% \usepackage{booktabs}",
        rf"\begin{{tabular}}{{ll{'r' * len(names)}}}",
        r"\toprule",
        rf"Task & Metric & {' & '.join(map(latex_text, names))} \\",
        r"\midrule",
        *_body(rows, notes),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par{{\footnotesize {_letter(at)} {latex_text(note)}\par}}" for at, note in enumerate(notes)),
    ]
    return "\n".join(lines) + "\n"


def latex_text(text: str) -> str:
    """Text from outside in which nothing is a command."""
    return _CHARS.sub(lambda found: _SPECIAL[found[0]], printable(text, limit=MAX_CHARS))


def _body(rows: Sequence[NumberRow], notes: Sequence[str]) -> list[str]:
    lines = []
    last = ""
    for row in rows:
        name = f"{row.task} {row.slice}"
        shown = "" if name == last else rf"\hspace*{{{row.depth}em}}{latex_text(row.label)}"
        mark = _letter(notes.index(row.notes)) if row.notes else ""
        direction = r"$\uparrow$" if row.higher_is_better else r"$\downarrow$"
        numbers = " & ".join(map(_number, row.results, row.absent))
        lines.append(rf"{shown} & {latex_text(row.metric)} {direction}{mark} & {numbers} \\")
        last = name
    return lines


def _number(result: Result | None, absent: str) -> str:
    if result is None:
        return absent
    if result.value is None:
        return NONE
    interval = "" if result.ci95 is None else rf" {{\scriptsize [{result.ci95[0]:.3f}, {result.ci95[1]:.3f}]}}"
    return f"{result.value:.3f}{interval}"


def _letter(at: int) -> str:
    """a, b, ... z, aa, ab, ... as a raised mark."""
    letters = ""
    at += 1
    while at:
        at, rest = divmod(at - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return rf"\textsuperscript{{{letters}}}"
