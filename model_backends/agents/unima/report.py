"""The fourth step: checks a plan by its form, and reads the items that can be made of
it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from mmeval.backend import Tool
from mmeval.media import PartKind, canonical_label, find, label_kind
from mmeval.model_backends.agents.unima.items import TAG, TaggedQuestion

PLANNER = "planner"
"""Makes what is written: code and documents."""
MAX_FAULTS = 10
"""How many faults of a plan are named; the others are counted."""


class ItemMaker(NamedTuple):
    """What makes a kind of item: a tool, or the planner (``tool`` is None)."""

    name: str
    kind: PartKind
    about: str
    tool: Tool | None = None

    @property
    def takes(self) -> frozenset[PartKind]:
        """The kinds of medium that it changes or continues: it cannot do without
        them."""
        if self.tool is None:
            return frozenset()
        return frozenset(self.tool.takes) - {"text"}

    def to_json(self) -> dict[str, str]:
        """What the planner is told of it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "about": self.about,
            "takes": ", ".join(sorted(self.takes)),
        }


class ReportItem(NamedTuple):
    """An item of the answer. ``uses`` are the labels of the items that it is made of:
    of the question, or before it."""

    label: str
    caption: str
    maker: ItemMaker
    uses: tuple[str, ...]


class Report(NamedTuple):
    """What can be made of a plan, in the order of the text, and everything that is
    wrong with the plan."""

    text: str
    items: list[ReportItem]
    faults: list[str]

    def to_json(self) -> dict[str, Any]:
        """The report in the form of a plan."""
        contents: dict[str, dict[str, str]] = {}
        for item in self.items:
            contents.setdefault(item.maker.kind, {})[item.label] = item.caption
        tools = {item.label: item.maker.name for item in self.items}
        return {
            "modalities_content": contents,
            "text_content": self.text,
            "tool_list": tools,
        }


def read_report(
    plan: Mapping[str, Any],
    question: TaggedQuestion,
    makers: Sequence[ItemMaker],
    max_items: int,
) -> Report:
    """The report of a plan.

    Every tag of the text has to have a caption and a tool, every caption and every tool
    a tag, all of the same kind and number. A caption names items of the question and
    items before its own, no others. What is at fault is not made, but for an item with
    a wrong tool: that one is made by the first maker of its kind.
    """
    faults: list[str] = []
    labels = Counter(tag.label for tag in find(plan["text_content"], TAG))
    for label, times in labels.items():
        if times > 1:
            faults.append(f"{label} stands {times} times in the text")
    captions = _captions(plan["modalities_content"], faults)
    tools = plan["tool_list"]
    named = {canonical_label(name): tools[name] for name in tools}
    for label in [label for label in captions if label not in labels]:
        faults.append(f"{label} has a caption, and no tag in the text")
    for label in [label for label in named if label not in captions]:
        faults.append(f"{label} has a tool, and no caption")
    items: dict[str, ReportItem] = {}
    for label in labels:
        if label in question.taken:
            faults.append(f"{label} is an item of the question; an answer has new ones")
            continue
        if label not in captions:
            faults.append(f"{label} has a tag in the text, and no caption")
            continue
        if len(items) == max_items:
            faults.append(f"there are more than {max_items} items")
            break
        maker = _maker(label, named.get(label), makers, faults)
        if maker is None:
            continue
        before = {*question.items, *items}
        item = _item(label, captions[label], maker, before, faults)
        if item is not None:
            items[label] = item
    if len(faults) > MAX_FAULTS:
        faults[MAX_FAULTS:] = [f"and {len(faults) - MAX_FAULTS} more"]
    return Report(plan["text_content"], list(items.values()), faults)


def _captions(
    contents: Mapping[str, Mapping[str, str]], faults: list[str]
) -> dict[str, str]:
    captions: dict[str, str] = {}
    for kind, found in contents.items():
        for name, caption in found.items():
            label = canonical_label(name)
            if label_kind(label) is None or label_kind(label) != label_kind(kind):
                faults.append(
                    f"{name[:40]} stands under {kind[:40]}, which is another kind"
                )
            elif label in captions:
                faults.append(f"{label} has two captions")
            else:
                captions[label] = caption
    return captions


def _maker(
    label: str, tool: str | None, makers: Sequence[ItemMaker], faults: list[str]
) -> ItemMaker | None:
    """What makes an item; None where nothing makes its kind."""
    able = [maker for maker in makers if maker.kind == label_kind(label)]
    if not able:
        faults.append(f"{label}: nothing makes this kind")
        return None
    for maker in able:
        if maker.name == tool:
            return maker
    given = "no tool" if tool is None else f"the tool {tool[:40]}"
    faults.append(f"{label} has {given}; there is {able[0].name}")
    return able[0]


def _item(
    label: str,
    caption: str,
    maker: ItemMaker,
    before: Collection[str],
    faults: list[str],
) -> ReportItem | None:
    """An item; None where its caption does not name what it has to be made of."""
    named = dict.fromkeys(tag.label for tag in find(caption, TAG))
    uses = tuple(use for use in named if use in before)
    unknown = [use for use in named if use not in before]
    if unknown:
        faults.append(
            f"the caption of {label} names {unknown[0]}, which is no item of the "
            "question and none before it"
        )
    lacking = sorted(maker.takes - {label_kind(use) for use in uses})
    if lacking:
        faults.append(
            f"{label}: {maker.name} needs {lacking[0]}, and the caption names no such "
            "item by its tag"
        )
        return None
    return ReportItem(label, caption, maker, uses)
