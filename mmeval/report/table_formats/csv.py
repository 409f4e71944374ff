"""Formats numbers for a spreadsheet or a script: one number with all its fields per
line."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from mmeval.results.numbers import NumberRow
from mmeval.system.wording import printable

COLUMNS = (
    "run",
    "task",
    "alias",
    "slice",
    "version",
    "metric",
    "higher_is_better",
    "value",
    "stderr",
    "ci95_low",
    "ci95_high",
    "bounds_low",
    "bounds_high",
    "bounds_ci95_low",
    "bounds_ci95_high",
    "n",
    "scored",
    "failed",
    "unscored",
    "unavailable",
    "unsupported",
    "inapplicable",
    "clusters",
    "effective_clusters",
    "bootstrap_iters",
    "suspended",
    "compares_with_first",
    "notes",
)
MAX_CHARS = 2_000
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""A spreadsheet treats a text that starts with one of these (or a wide form) as a
formula, so the text gets a leading quote."""


def csv_table(rows: Sequence[NumberRow], names: Sequence[str]) -> str:
    """Returns CSV with one line for each number of each run, with its notes. Unknown
    values are empty. If a run does not have the number, the notes state it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        texts = (row.task, row.alias, row.slice, row.version, row.metric)
        for position, name in enumerate(names):
            result = row.results[position]
            cells = [csv_text(text) for text in (name, *texts)]
            cells.append(_yes(row.higher_is_better))
            if result is None:
                cells += [""] * (len(COLUMNS) - len(cells) - 1)
                cells.append(row.absent[position])
            else:
                why = row.unlike[position - 1] if position else ""
                values = [result.value, result.stderr]
                for interval in (result.ci95, result.bounds, result.bounds_ci95):
                    values += interval or (None, None)
                cells += map(_number, values)
                counts = (
                    result.n,
                    result.scored,
                    result.failed,
                    result.unscored,
                    result.unavailable,
                    result.unsupported,
                    result.inapplicable,
                    result.clusters,
                )
                cells += map(str, counts)
                cells.append(_number(result.effective_clusters))
                cells.append(str(result.bootstrap_iters))
                cells.append(_yes(result.suspended))
                cells += [
                    csv_text(why) or "yes",
                    csv_text(str(row.own_notes[position])),
                ]
            writer.writerow(cells)
    return out.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def _yes(truth: bool) -> str:
    return "true" if truth else "false"


def csv_text(text: str) -> str:
    """Returns foreign text in a form that a spreadsheet does not treat as a formula."""
    clean = printable(text, limit=MAX_CHARS)
    return f"'{clean}" if clean.lstrip().startswith(_FORMULA) else clean
