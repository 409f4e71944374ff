"""Material: the parts of a trial that a judge is shown, by their names in prompts."""

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
"""The values that every prompt of these metrics may use besides its own."""


def material(
    trial: Trial, *, show_input: bool, show_references: bool, media: bool
) -> Material:
    """The ``answer``, ``input`` and ``references``, the last two empty if not shown.

    Without ``media`` each medium is a placeholder. Hidden reasoning is never shown.
    """
    seen: Material = {
        "answer": shown(trial.output, media=media),
        "input": "",
        "references": [],
    }
    if show_input:
        seen["input"] = shown(asked_of(trial.sample), media=media)
    if show_references:
        references = trial.sample.references
        seen["references"] = [shown(content, media=media) for content in references]
    return seen


def as_the_reference(trial: Trial, _switches: Mapping[str, Any]) -> Interleaved:
    """A supposed answer with as many items as the first reference, of the same sizes.
    With other content, as a model's would be: for ``@metric(supposed=...)`` where each
    item is asked about."""
    if not trial.sample.references:
        return trial.output or Interleaved()
    who = f"{trial.sample.id} {trial.repeat}"
    parts = [another(part, who) for part in trial.sample.references[0].parts]
    return Interleaved(tuple(parts))


def another(part: Part, name: str) -> Part:
    """A part with a stand-in for its medium: the same bytes and another digest,
    different for each name."""
    media = part.media
    if media is None:
        return part
    digest = hashlib.sha256(f"{media.sha256} {name}".encode()).hexdigest()
    same = Media(
        path=media.path,
        data=media.data,
        sha256=digest,
        mime=media.mime,
        size=media.size,
        name=media.name,
    )
    return replace(part, media=same)


def asked_of(sample: Sample) -> Interleaved:
    """A sample's question: its user messages in order, an empty line between them."""
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
    """Why a label of a row, such as its rubric, cannot be used; empty when it can."""
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
