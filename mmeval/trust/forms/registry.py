"""The forms of ratings by name."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from mmeval.errors import UsageError, did_you_mean
from mmeval.report.terminal import WIDEST_LIST, columns
from mmeval.trust.forms import (
    argilla,
    inspect,
    judgejudy,
    label_studio,
    own,
    pearmut,
    potato,
)
from mmeval.trust.forms.contract import FormRatings, RatingsForm
from mmeval.trust.ratings_file import files_of_run
from mmeval.trust.records import Rating

FORMS: Mapping[str, RatingsForm] = MappingProxyType(
    {
        "jsonl": own.JSON_LINES,
        "csv": own.TABLE,
        "label_studio": label_studio.FORM,
        "argilla": argilla.FORM,
        "potato": potato.FORM,
        "pearmut": pearmut.FORM,
        "inspect": inspect.FORM,
        "judgejudy": judgejudy.FORM,
    }
)


def form_named(name: str) -> RatingsForm:
    """Returns a form. Raises UsageError for an unknown name."""
    if name not in FORMS:
        raise UsageError(
            f"unknown form {name!r}{did_you_mean(name, FORMS)}\n{list_of_forms()}",
            name=name,
            known=FORMS,
        )
    return FORMS[name]


def read_files(paths: Sequence[Path], form: str = "") -> FormRatings:
    """Returns the ratings of files in this order. A folder of a run stands for all its
    ratings.

    Without a form, the files have mmeval's own. Raises MissingDataError if a run has no
    ratings, and the errors of the form.
    """
    read = form_named(form).read if form else own.read_own
    ratings: list[Rating] = []
    skipped: Counter[str] = Counter()
    for path in paths:
        if path.is_dir():
            for file in files_of_run(path):
                ratings += own.read_own(file).ratings
            continue
        reading = read(path)
        ratings += reading.ratings
        skipped.update(reading.skipped)
    return FormRatings(ratings, dict(skipped))


def list_of_forms() -> str:
    """Returns a line for each form."""
    widest_name = max(map(len, FORMS))
    lines = ["forms of ratings, for --form NAME:"]
    for name, form in FORMS.items():
        head = f"  {name.ljust(widest_name)}  "
        width = columns(widest=WIDEST_LIST) - len(head)
        lines.append(head + textwrap.shorten(form.about, width, placeholder=" …"))
    return "\n".join(lines)
