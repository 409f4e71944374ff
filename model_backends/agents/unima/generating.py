"""Makes the items of a report, and inserts them at the positions of their tags."""

from __future__ import annotations

from collections.abc import Mapping

from mmeval.backend import TO_DESCRIBE
from mmeval.backend.agent import in_rounds, rounds_of
from mmeval.media import Interleaved, Media, Part, find, media_part
from mmeval.model_backends.agents.unima.items import TAG
from mmeval.model_backends.agents.unima.report import Report
from mmeval.model_backends.agents.unima.steps import Steps, bare, not_empty
from mmeval.program import Call, Program, Reply


def make_answer(report: Report, steps: Steps) -> Program[Interleaved]:
    """Makes the answer for a report.

    The answer is the report's text with the items that tools and the planner make from
    the captions. If an item is not made, its tag remains without a medium.
    """
    items = report.items
    numbers = {item.label: number for number, item in enumerate(items)}

    def call(number: int, media_by_number: Mapping[int, Part]) -> Call | None:
        item = items[number]
        parts: dict[str, Part] = {}
        for use in item.uses:
            if use not in numbers:
                parts[use] = bare(steps.question.items[use])
            elif numbers[use] in media_by_number:
                parts[use] = bare(media_by_number[numbers[use]])
        available_kinds = {part.kind for part in parts.values()}
        missing = sorted(item.maker.takes - available_kinds)
        if missing:
            steps.warnings.append(
                f"{item.label} is not made: the {missing[0]} that it needs was not made"
            )
            return None
        if item.maker.tool is None:
            material = Interleaved(tuple(parts.values()))
            messages = steps.prompts.messages(
                "write", kind=item.maker.kind, caption=item.caption, material=material
            )
            return steps.planner.send(
                messages,
                title="generate",
                accept=not_empty,
                example="something",
                convert=TO_DESCRIBE,
            )
        options = steps.params.options_of(item.maker.kind)
        takes = item.maker.takes
        tool_inputs = {use: part for use, part in parts.items() if part.kind in takes}
        text = _without_tags(item.caption, tool_inputs)
        tool = item.maker.tool
        return tool.call(text, *tool_inputs.values(), title="generate", **options)

    def read(number: int, reply: Reply) -> Part | None:
        item = items[number]
        if item.maker.tool is None:
            if not steps.is_usable(reply, f"{item.label} is not made"):
                return None
            text = _unfenced(reply.text)
            if item.maker.kind == "code":
                return Part("code", text=text)
            data = text.encode("utf-8", "replace")
            return media_part(Media.from_bytes(data), "document")
        part = item.maker.tool.made(reply)
        if isinstance(part, Part):
            return part
        steps.warnings.append(f"{item.label} is not made: {part}")
        return None

    needs = []
    for item in items:
        needs.append([numbers[use] for use in item.uses if use in numbers])
    order, _ = rounds_of(needs)
    media_by_number = yield from in_rounds(order, call, read)
    contents = {}
    for number, part in sorted(media_by_number.items()):
        contents[items[number].label] = part.media or part.text or ""
    return Interleaved.from_text(report.text, contents, spellings=TAG)


def _unfenced(text: str) -> str:
    """Returns the first fenced block of a text, or the whole text without a fence.

    Runs in linear time, whatever a model writes.
    """
    rest = text.partition("```")[2]
    inner = rest.partition("\n")[2]
    block, closing, _ = inner.partition("```")
    return block.removesuffix("\n") if closing else text.strip()


def _without_tags(caption: str, inputs: Mapping[str, Part]) -> str:
    """Replaces the tags in a caption for a tool, since tools do not know tags.

    ``<<image2>>`` becomes ``image 1`` if it is the tool's first image.
    """
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for label, part in inputs.items():
        counts[part.kind] = counts.get(part.kind, 0) + 1
        names[label] = f"{part.kind} {counts[part.kind]}"
    pieces, position = [], 0
    for tag in find(caption, TAG):
        pieces.append(caption[position : tag.start])
        pieces.append(names.get(tag.label, tag.kind))
        position = tag.end
    return "".join([*pieces, caption[position:]])
