"""The question as words, and what it holds beside words as items with a tag each."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from mmeval.media import Part, find, label_kind
from mmeval.records import Request

TAG = ("tag",)
"""The spelling of tags here: ``<<image1>>``."""


class TaggedQuestion(NamedTuple):
    """What is asked: words with a tag for each item, and the items by label
    (``image1``). ``taken`` are all labels that the user names, with an item or
    without."""

    words: str
    items: dict[str, Part]
    taken: frozenset[str]

    def next_label(self, kind: str) -> str:
        """The label of the first item of a kind in an answer: its number goes on from
        those of the question."""
        last = 0
        for label in self.items:
            if label_kind(label) == kind:
                last = max(last, int(label.removeprefix(kind)))
        return _free(kind, self.taken, last + 1)


def read_question(request: Request) -> TaggedQuestion:
    """The question of a request. An item without a label of its own gets a free one.

    Tags in a system message are examples of how to write them.
    """
    asked = [message for message in request.messages if not message.content.empty]
    taken: set[str] = set()
    for message in asked:
        if message.role == "system":
            continue
        for part in message.content.parts:
            taken.update(tag.label for tag in find(part.raw, TAG))
            if _numbered(part.label):
                taken.add(part.label)
    items: dict[str, Part] = {}

    def shown(part: Part) -> str:
        if part.kind == "text" or part.dangling:
            return part.raw
        label = part.label
        earlier = items.get(label, part)
        if not _numbered(label) or _content(earlier) != _content(part):
            label = _free(part.kind, taken)
        taken.add(label)
        items[label] = part
        return f"<<{label}>>"

    texts = []
    for message in asked:
        parts = [part for part in message.content.parts if part.kind != "reasoning"]
        texts.append("".join(map(shown, parts)))
    return TaggedQuestion("\n\n".join(texts), items, frozenset(taken))


def _free(
    kind: str,
    taken: Collection[str],
    first: int = 1,
) -> str:
    number = first
    while f"{kind}{number}" in taken:
        number += 1
    return f"{kind}{number}"


def _numbered(label: str) -> bool:
    return label_kind(label) is not None and label != label_kind(label)


def _content(part: Part) -> tuple[str, str]:
    return part.text or "", "" if part.media is None else part.media.sha256
