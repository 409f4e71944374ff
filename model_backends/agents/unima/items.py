"""Splits a question into text with tags, and the tagged items."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from mmeval.media import Part, find, label_kind
from mmeval.records import Request

TAG = ("tag",)
"""The spelling of tags in this agent: ``<<image1>>``."""


class TaggedQuestion(NamedTuple):
    """A question: text with a tag for each item, and the items by label (``image1``).

    ``used_labels`` are all labels in the user's messages, with or without an item.
    """

    words: str
    items: dict[str, Part]
    used_labels: frozenset[str]

    def next_label(self, kind: str) -> str:
        """Returns the label of the first item of a kind in an answer.

        The answer's numbers continue the question's numbers.
        """
        last = 0
        for label in self.items:
            if label_kind(label) == kind:
                last = max(last, int(label.removeprefix(kind)))
        return _unused_label(kind, self.used_labels, last + 1)


def read_question(request: Request) -> TaggedQuestion:
    """Reads the question of a request. Items without their own label get an unused one.

    Tags in a system message are only examples, so they are ignored.
    """
    messages = [message for message in request.messages if not message.content.empty]
    used_labels: set[str] = set()
    for message in messages:
        if message.role == "system":
            continue
        for part in message.content.parts:
            used_labels.update(tag.label for tag in find(part.raw, TAG))
            if _has_number(part.label):
                used_labels.add(part.label)
    items: dict[str, Part] = {}

    def text_of(part: Part) -> str:
        if part.kind == "text" or part.dangling:
            return part.raw
        label = part.label
        earlier = items.get(label, part)
        if not _has_number(label) or _content(earlier) != _content(part):
            label = _unused_label(part.kind, used_labels)
        used_labels.add(label)
        items[label] = part
        return f"<<{label}>>"

    texts = []
    for message in messages:
        parts = [part for part in message.content.parts if part.kind != "reasoning"]
        texts.append("".join(map(text_of, parts)))
    return TaggedQuestion("\n\n".join(texts), items, frozenset(used_labels))


def _unused_label(
    kind: str,
    used_labels: Collection[str],
    first: int = 1,
) -> str:
    number = first
    while f"{kind}{number}" in used_labels:
        number += 1
    return f"{kind}{number}"


def _has_number(label: str) -> bool:
    return label_kind(label) is not None and label != label_kind(label)


def _content(part: Part) -> tuple[str, str]:
    return part.text or "", "" if part.media is None else part.media.sha256
