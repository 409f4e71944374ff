r"""A table for LaTeX with booktabs rules, to ``\input`` into a table environment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

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
    """Returns values with their 95 % intervals; letters mark the notes below the
    table."""
    marks: dict[str, str] = {"": ""}
    body = []
    last = ""
    for row in rows:
        mark = marks.setdefault(row.notes, _letter(len(marks)))
        name = f"{row.task} {row.slice}"
        shown = ""
        if name != last:
            shown = rf"\hspace*{{{row.depth}em}}{latex_text(row.label)}"
        last = name
        direction = r"$\uparrow$" if row.higher_is_better else r"$\downarrow$"
        metric = f"{latex_text(row.metric)} {direction}{mark}"
        cells = [shown, metric]
        for result, absent in zip(row.results, row.absent, strict=True):
            text = absent
            if result is not None:
                text = NONE if result.value is None else f"{result.value:.3f}"
                if result.value is not None and result.interval is not None:
                    low, high = result.interval
                    text += rf" {{\scriptsize [{low:.3f}, {high:.3f}]}}"
            cells.append(text)
        body.append(cells)
    notes = [f"{mark} {latex_text(note)}" for note, mark in marks.items() if note]
    headers = ["Task", "Metric", *map(latex_text, names)]
    return booktabs(f"ll{'r' * len(names)}", headers, body, notes)


def booktabs(
    columns: str,
    headers: Iterable[str],
    rows: Iterable[Sequence[str]],
    notes: Iterable[str],
) -> str:
    """Returns a table with booktabs rules and notes below. Cells must already be valid
    LaTeX."""
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
    """Returns foreign text, escaped for LaTeX."""
    clean = printable(text, limit=MAX_CHARS)
    return _CHARS.sub(lambda match: _SPECIAL[match[0]], clean)


def _letter(number: int) -> str:
    """Returns a, b, ... z, aa, ab, ... as a raised mark; ``number`` starts at 1."""
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return rf"\textsuperscript{{{letters}}}"
