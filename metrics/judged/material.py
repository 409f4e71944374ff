"""Material: the parts of a trial that a judge sees, by their names in prompts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.errors import written_instead
from mmeval.media import Interleaved, Media, Part, text_part
from mmeval.metric.judge import shown
from mmeval.records import Sample, Trial

if TYPE_CHECKING:
    from mmeval.program import Value

Material: TypeAlias = "dict[str, Value]"

NAMES = ("answer", "input", "references")
"""Values that every prompt of these metrics may use."""


def material(
    trial: Trial, *, show_input: bool, show_references: bool, media: bool
) -> Material:
    """Returns the ``answer``, ``input`` and ``references`` of a trial.

    The last two are empty if they are not shown. Without ``media`` each medium is a
    placeholder. Hidden reasoning is never shown.
    """
    values: Material = {
        "answer": shown(trial.output, media=media),
        "input": "",
        "references": [],
    }
    if show_input:
        values["input"] = shown(question_content(trial.sample), media=media)
    if show_references:
        references = trial.sample.references
        values["references"] = [shown(content, media=media) for content in references]
    return values


def as_the_reference(trial: Trial, _switches: Mapping[str, Any]) -> Interleaved:
    """Returns a supposed answer with items like the items of the first reference.

    The supposed answer contains the same number of items with the same sizes. Their
    digests differ, as they would in a model's answer. A metric that asks about each
    item passes this function to ``@metric(supposed=...)``.
    """
    if not trial.sample.references:
        return trial.output or Interleaved()
    name = f"{trial.sample.id} {trial.repeat}"
    parts = [with_other_digest(part, name) for part in trial.sample.references[0].parts]
    return Interleaved(tuple(parts))


def with_other_digest(part: Part, name: str) -> Part:
    """Returns a part with the same bytes and a digest that depends on ``name``."""
    media = part.media
    if media is None:
        return part
    digest = hashlib.sha256(f"{media.sha256} {name}".encode()).hexdigest()
    stand_in = Media(
        path=media.path,
        data=media.data,
        sha256=digest,
        mime=media.mime,
        size=media.size,
        name=media.name,
    )
    return replace(part, media=stand_in)


def question_content(sample: Sample) -> Interleaved:
    """Returns a sample's question: its user messages, separated by empty lines."""
    parts: list[Part] = []
    for message in sample.input:
        if message.role == "user":
            if parts:
                parts.append(text_part("\n\n"))
            parts += message.content.parts
    return Interleaved(tuple(parts))


def label_fault(
    sample: Sample, label: str, name: str, read: Callable[[Any], object]
) -> str:
    """Returns what is wrong with a row's label, such as its rubric; empty if usable."""
    if label not in sample.metadata:
        return (
            f"the row has no label {label!r} for its "
            f"{name}{written_instead(label, sample.metadata)}"
        )
    try:
        read(sample.metadata[label])
    except ValueError as error:
        return f"the row's {name} under {label!r} cannot be used: {error}"
    return ""
