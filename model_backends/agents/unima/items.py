"""The question as words, and what it holds beside words as items with a tag each."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

from mmeval.content import Part, find, label_kind
from mmeval.records import Request

TAG = ("tag",)
"""The spelling of tags here: ``<<image1>>``."""


class Question(NamedTuple):
    """What is asked: words with a tag for each item, and the items by label (``image1``).
    ``taken`` are all labels that the words name, with an item or without."""

    words: str
    items: dict[str, Part]
    taken: frozenset[str]

    def next_label(self, kind: str) -> str:
        """The label of the first item of a kind in an answer: its number goes on from those of the question."""
        numbers = [int(label.removeprefix(kind)) for label in self.taken if label_kind(label) == kind]
        return f"{kind}{max(numbers, default=0) + 1}"


def read_question(request: Request) -> Question:
    """The question of a request. An item without a label of its own gets a free one."""
    asked = [
        [part for part in message.content.parts if part.kind != "reasoning"]
        for message in request.messages
        if not message.content.empty
    ]
    parts = [part for content in asked for part in content]
    written = (tag.label for part in parts for tag in find(part.text or "" if part.kind == "text" else part.raw, TAG))
    taken = {*written, *(part.label for part in parts if _numbered(part.label))}
    items: dict[str, Part] = {}

    def shown(part: Part) -> str:
        if part.kind == "text" or part.dangling:
            return part.raw
        label = part.label
        if not _numbered(label) or _content(items.get(label, part)) != _content(part):
            label = next(name for at in count(1) if (name := f"{part.kind}{at}") not in taken)
        taken.add(label)
        items[label] = part
        return f"<<{label}>>"

    words = "\n\n".join("".join(map(shown, content)) for content in asked)
    return Question(words, items, frozenset(taken))


def _numbered(label: str) -> bool:
    return label_kind(label) is not None and label != label_kind(label)


def _content(part: Part) -> tuple[str, str]:
    return part.text or "", "" if part.media is None else part.media.sha256
