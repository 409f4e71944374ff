"""Step 4: checks the form of a plan, and reads the items that can be made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from mmeval.backend import Tool
from mmeval.media import PartKind, canonical_label, find, label_kind
from mmeval.model_backends.agents.unima.items import TAG, TaggedQuestion

PLANNER = "planner"
"""The maker of written items: code and documents."""
MAX_FAULTS = 10
"""Maximum number of faults that are listed for a plan.

Further faults are only counted.
"""


class ItemMaker(NamedTuple):
    """The maker of a kind of item: a tool, or the planner (``tool`` is None)."""

    name: str
    kind: PartKind
    about: str
    tool: Tool | None = None

    @property
    def takes(self) -> frozenset[PartKind]:
        """The kinds of media that the maker requires as input."""
        if self.tool is None:
            return frozenset()
        return frozenset(self.tool.takes) - {"text"}

    def to_json(self) -> dict[str, str]:
        """Describes the maker for the planner."""
        return {
            "name": self.name,
            "kind": self.kind,
            "about": self.about,
            "takes": ", ".join(sorted(self.takes)),
        }


class ReportItem(NamedTuple):
    """An item of the answer.

    ``uses`` are the labels of the items that it needs: items of the question, or
    earlier items.
    """

    label: str
    caption: str
    maker: ItemMaker
    uses: tuple[str, ...]


class Report(NamedTuple):
    """The items of a plan that can be made, and the plan's faults.

    The items are in the order of their tags in the text.
    """

    text: str
    items: list[ReportItem]
    faults: list[str]

    def to_json(self) -> dict[str, Any]:
        """Returns the report in the form of a plan."""
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
    """Reads the report in a plan.

    Each tag in the text needs a caption and a tool, and each caption and each tool
    needs a tag. The tag, the caption and the tool must agree in kind and number. A
    caption may only name items of the question and earlier items. A faulty item is not
    made, with one exception: an item with a wrong tool is made by the first maker of
    its kind.
    """
    faults: list[str] = []
    labels = Counter(tag.label for tag in find(plan["text_content"], TAG))
    for label, times in labels.items():
        if times > 1:
            faults.append(f"{label} stands {times} times in the text")
    captions = _captions(plan["modalities_content"], faults)
    tools = plan["tool_list"]
    tool_of = {canonical_label(name): tools[name] for name in tools}
    for label in [label for label in captions if label not in labels]:
        faults.append(f"{label} has a caption, and no tag in the text")
    for label in [label for label in tool_of if label not in captions]:
        faults.append(f"{label} has a tool, and no caption")
    items: dict[str, ReportItem] = {}
    for label in labels:
        if label in question.used_labels:
            faults.append(f"{label} is an item of the question; an answer has new ones")
            continue
        if label not in captions:
            faults.append(f"{label} has a tag in the text, and no caption")
            continue
        if len(items) == max_items:
            faults.append(f"there are more than {max_items} items")
            break
        maker = _maker(label, tool_of.get(label), makers, faults)
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
    for kind, captions_of_kind in contents.items():
        for name, caption in captions_of_kind.items():
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
    """Returns the maker of an item, or None if its kind cannot be made."""
    makers_of_kind = [maker for maker in makers if maker.kind == label_kind(label)]
    if not makers_of_kind:
        faults.append(f"{label}: nothing makes this kind")
        return None
    for maker in makers_of_kind:
        if maker.name == tool:
            return maker
    stated = "no tool" if tool is None else f"the tool {tool[:40]}"
    faults.append(f"{label} has {stated}; there is {makers_of_kind[0].name}")
    return makers_of_kind[0]


def _item(
    label: str,
    caption: str,
    maker: ItemMaker,
    before: Collection[str],
    faults: list[str],
) -> ReportItem | None:
    """Returns an item, or None if its caption does not name an item that it needs."""
    names = dict.fromkeys(tag.label for tag in find(caption, TAG))
    uses = tuple(use for use in names if use in before)
    unknown = [use for use in names if use not in before]
    if unknown:
        faults.append(
            f"the caption of {label} names {unknown[0]}, which is not an item of the "
            "question and none before it"
        )
    missing = sorted(maker.takes - {label_kind(use) for use in uses})
    if missing:
        faults.append(
            f"{label}: {maker.name} needs {missing[0]}, and the caption names no such "
            "item by its tag"
        )
        return None
    return ReportItem(label, caption, maker, uses)
