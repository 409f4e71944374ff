"""Numbers for a spreadsheet or a script: one a line, with all that is known of it."""

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
"""With these, or their wide forms, a spreadsheet begins to calculate; a text that
begins so gets a quote before it."""


def csv_table(rows: Sequence[NumberRow], names: Sequence[str]) -> str:
    """CSV with a line for each run's number and its notes; what is unknown is empty.
    The notes state it where a run does not have a number."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        texts = (row.task, row.alias, row.slice, row.version, row.metric)
        for at, name in enumerate(names):
            result = row.results[at]
            cells = [csv_text(text) for text in (name, *texts)]
            cells.append(_yes(row.higher_is_better))
            if result is None:
                cells += [""] * (len(COLUMNS) - len(cells) - 1)
                cells.append(row.absent[at])
            else:
                why = row.unlike[at - 1] if at else ""
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
                cells += [csv_text(why) or "yes", csv_text(str(row.own_notes[at]))]
            writer.writerow(cells)
    return out.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def _yes(truth: bool) -> str:
    return "true" if truth else "false"


def csv_text(text: str) -> str:
    """Text from outside on which no spreadsheet begins to calculate."""
    clean = printable(text, limit=MAX_CHARS)
    return f"'{clean}" if clean.lstrip().startswith(_FORMULA) else clean
