"""Records of Argilla, as ``to_json`` writes them or as its server returns them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.trust.forms.contract import (
    FormRatings,
    RatingsForm,
    Row,
    about_trial,
    entries,
    form_ratings,
    is_plain,
    mapping,
    one_value,
    read_json,
    records,
)

_SUBMITTED = "submitted"


class _Response(NamedTuple):
    question: str
    value: Any  # Any: a value of JSON
    user: Any
    status: str


def _read(path: Path) -> FormRatings:
    document = read_json(path)
    # the server returns a page of records in an object
    found = document.get("items", document) if isinstance(document, dict) else document
    rows = []
    skipped: Counter[str] = Counter()
    for record in records(path, found):
        metadata = mapping(record.get("metadata"))
        trial = metadata.get("trial") or record.get("external_id") or record.get("id")
        for response in _responses(record):
            if response.status != _SUBMITTED:
                skipped["not submitted"] += 1
                continue
            value = response.value
            if isinstance(value, list) and all(map(is_plain, value)):
                value = one_value(value)
            if not is_plain(value):
                skipped["rankings or spans"] += 1
                continue
            row = {
                **about_trial(metadata),
                "trial": trial,
                "rater": response.user,
                "question": response.question,
                "value": value,
            }
            rows.append(row)
    return form_ratings(path, rows, skipped)


def _responses(record: Row) -> Iterator[_Response]:
    responses = record.get("responses")
    for question, answers in mapping(responses).items():
        for answer in map(mapping, entries(answers)):
            yield _Response(
                question,
                answer.get("value"),
                answer.get("user_id"),
                answer.get("status") or _SUBMITTED,
            )
    for answer in map(mapping, entries(responses)):
        for question, value in mapping(answer.get("values")).items():
            yield _Response(
                question,
                mapping(value).get("value"),
                answer.get("user_id"),
                str(answer.get("status")),
            )


FORM = RatingsForm("records of Argilla, from to_json or from the server", _read)
