"""Writes the ratings of a run, or of a file, in the form of another program."""

from __future__ import annotations

from pathlib import Path

from mmeval.errors import UsageError
from mmeval.system.folders import write_atomic
from mmeval.trust.forms.registry import FORMS, form_named, read_files
from mmeval.trust.human_values import kept_ratings, usual_human_value
from mmeval.trust.paired_trials import ratings_of_question


def export_ratings(
    source: Path,
    form: str,
    into: Path,
    *,
    question: str | None = None,
    force: bool = False,
) -> int:
    """Writes the ratings of a file, or of the folder of a run, to the file ``into``.

    Ratings that a later line replaces are left out. Without a question, those of all
    questions are written. Returns the number of ratings. Raises UsageError if the form
    can only be read, and if the file exists and ``force`` is False.
    """
    write = form_named(form).write
    if write is None:
        writable = [name for name, each in FORMS.items() if each.write is not None]
        raise UsageError(
            f"the form {form} can only be read; write {', '.join(writable)}"
        )
    if into.exists() and not force:
        raise UsageError(f"{into} exists; replace it with --force", file=into)
    ratings = kept_ratings(read_files([source]).ratings)
    if question is not None:
        ratings = ratings_of_question(ratings, question)
    text = write(ratings, usual_human_value(ratings))
    into.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(into, text.encode("utf-8"))
    return len(ratings)
