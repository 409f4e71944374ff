"""Material: what a judge is shown of a trial, and how its prompts call it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.content import Interleaved, Media, Part, text_part
from mmeval.judge import shown
from mmeval.records import Sample, Trial

if TYPE_CHECKING:
    from mmeval.program import Value

Material: TypeAlias = "dict[str, Value]"

NAMES = ("answer", "input", "references")
"""The values that every prompt of these metrics may read besides its own."""


def material(trial: Trial, *, show_input: bool, show_references: bool, media: bool) -> Material:
    """``answer``; ``input``, empty when it is not shown; ``references``, a list that is empty then.

    Without ``media`` each medium is a placeholder. Hidden reasoning is never shown.
    """
    references = [shown(one, media=media) for one in trial.sample.references] if show_references else []
    return {
        "answer": shown(trial.output, media=media),
        "input": shown(asked_of(trial.sample), media=media) if show_input else "",
        "references": references,
    }


def as_the_reference(trial: Trial, _switches: Mapping[str, Any]) -> Interleaved:
    """For ``@metric(supposed=...)`` of a metric that asks about each item of an answer: one that holds as many as the
    first reference, each as large as that one's and yet another, as those of a model are."""
    if not trial.sample.references:
        return trial.output or Interleaved()
    parts = trial.sample.references[0].parts
    return Interleaved(
        tuple(part if part.media is None else replace(part, media=_another(part.media, trial)) for part in parts)
    )


def _another(media: Media, trial: Trial) -> Media:
    """A stand-in with the bytes of a medium that is told apart from it and from those of other trials."""
    told = hashlib.sha256(f"{media.sha256} {trial.sample.id} {trial.repeat}".encode()).hexdigest()
    return Media(path=media.path, data=media.data, sha256=told, mime=media.mime, size=media.size, name=media.name)


def asked_of(sample: Sample) -> Interleaved:
    """What the sample asks: its user messages, in order, an empty line between them."""
    parts: list[Part] = []
    for message in sample.input:
        if message.role == "user":
            parts += [text_part("\n\n")] if parts else []
            parts += message.content.parts
    return Interleaved(tuple(parts))
