"""The annotations that Pearmut lets one download: lines, or lists of lines by campaign.

A line has several items, and a score of each model's answer to each item. The trial is
``ITEM/MODEL``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mmeval.errors import UsageError
from mmeval.trust.forms.contract import (
    FormRatings,
    RatingsForm,
    Row,
    entries,
    form_ratings,
    mapping,
    read_json,
    records,
)

_NOT_RATED = ("welcome_", "random_", "goodbye_")
"""The first letters of items that explain the work or test the rater."""


def _read(path: Path) -> FormRatings:
    document = read_json(path)
    campaigns = document if isinstance(document, dict) else {"": document}
    rows: list[Row] = []
    skipped: Counter[str] = Counter()
    for campaign, lines in campaigns.items():
        for line in records(
            path, lines, f"campaign {campaign}" if campaign else "file"
        ):
            if str(line.get("item_i")).startswith(_NOT_RATED):
                skipped["items that are not rated"] += 1
            elif line.get("annotation") is None:
                skipped["lines without an annotation"] += 1
            else:
                rows += _rows(path, line, campaign, skipped)
    return form_ratings(path, rows, skipped)


def _rows(path: Path, line: Row, campaign: str, skipped: Counter[str]) -> Iterator[Row]:
    items = entries(line.get("item"))
    annotations = entries(line.get("annotation"))
    if len(items) != len(annotations):
        raise UsageError(
            f"{path}: item {line.get('item_i')} has {len(items):,} parts, but "
            f"{len(annotations):,} annotations",
            file=path,
        )
    for item, annotation in zip(items, annotations, strict=True):
        name = mapping(item).get("item_id")
        for model, answer in mapping(annotation).items():
            score = mapping(answer).get("score")
            if score is None:
                skipped["answers without a score"] += 1
                continue
            labels = {"model": model}
            if campaign:
                labels["campaign"] = campaign
            yield {
                "trial": f"{name}/{model}",
                "sample": name,
                "rater": line.get("user_id"),
                "value": score,
                "kind": "grade",
                "labels": labels,
            }


FORM = RatingsForm("the annotations of Pearmut", _read)
