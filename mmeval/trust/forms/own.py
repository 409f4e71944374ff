"""mmeval's own form: JSON lines, or CSV with the same names."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from mmeval.trust.forms.contract import FormRatings, RatingsForm, Row
from mmeval.trust.human_values import HumanValue
from mmeval.trust.records import Rating
from mmeval.trust.rows import read_ratings


def read_own(path: Path) -> FormRatings:
    """Returns the ratings of a file: a table if its name ends with .csv, else lines."""
    return FormRatings(read_ratings(path))


def _json_lines(ratings: Sequence[Rating], _human: HumanValue) -> str:
    """Returns one object a line."""
    lines = []
    for rating in ratings:
        # labels may be another kind of mapping than a dict
        line = json.dumps(rating.to_json(), ensure_ascii=False, default=dict)
        lines.append(f"{line}\n")
    return "".join(lines)


def _table(ratings: Sequence[Rating], _human: HumanValue) -> str:
    """Returns a table. Parts of a draw have a dot, and each label has a column."""
    rows = [_flat(rating) for rating in ratings]
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(names))
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _flat(rating: Rating) -> Row:
    row = rating.to_json()
    del row["v"]
    for name, value in row.pop("draw", {}).items():
        row[f"draw.{name}"] = value
    for name, value in row.pop("labels", {}).items():
        row.setdefault(name, value)
    return row


JSON_LINES = RatingsForm(
    "mmeval's own form, as JSON lines", read_own, _json_lines, ".jsonl"
)
TABLE = RatingsForm("mmeval's own form, as CSV", read_own, _table, ".csv")
