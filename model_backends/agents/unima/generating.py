"""Has the items of a report made, and puts them in the places of their tags."""

from __future__ import annotations

from collections.abc import Mapping

from mmeval.backend import TO_DESCRIBE
from mmeval.backend.agent import in_rounds, rounds_of
from mmeval.media import Interleaved, Media, Part, find, media_part
from mmeval.model_backends.agents.unima.items import TAG
from mmeval.model_backends.agents.unima.report import Report
from mmeval.model_backends.agents.unima.steps import Steps, bare, not_empty
from mmeval.program import Call, Program, Reply


def generated(report: Report, steps: Steps) -> Program[Interleaved]:
    """The answer of a report: its text, with what tools and planner make of the
    captions alone.

    The tag of an item that is not made has no medium.
    """
    items = report.items
    numbers = {item.label: at for at, item in enumerate(items)}

    def call(at: int, made: Mapping[int, Part]) -> Call | None:
        item = items[at]
        parts: dict[str, Part] = {}
        for use in item.uses:
            if use not in numbers:
                parts[use] = bare(steps.question.items[use])
            elif numbers[use] in made:
                parts[use] = bare(made[numbers[use]])
        given = {part.kind for part in parts.values()}
        lacking = sorted(item.maker.takes - given)
        if lacking:
            steps.warnings.append(
                f"{item.label} is not made: the {lacking[0]} that it is made of was "
                "not made"
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
        taken = {use: part for use, part in parts.items() if part.kind in takes}
        words = _in_words(item.caption, taken)
        tool = item.maker.tool
        return tool.call(words, *taken.values(), title="generate", **options)

    def read(at: int, reply: Reply) -> Part | None:
        item = items[at]
        if item.maker.tool is None:
            if not steps.usable(reply, f"{item.label} is not made"):
                return None
            words = _unfenced(reply.text)
            if item.maker.kind == "code":
                return Part("code", text=words)
            data = words.encode("utf-8", "replace")
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
    made = yield from in_rounds(order, call, read)
    contents = {}
    for at, part in sorted(made.items()):
        contents[items[at].label] = part.media or part.text or ""
    return Interleaved.from_text(report.text, contents, spellings=TAG)


def _unfenced(text: str) -> str:
    """The first fenced block of a text; the whole text without one. It takes time in
    proportion to the text, whatever a model writes."""
    rest = text.partition("```")[2]
    inner = rest.partition("\n")[2]
    block, closing, _ = inner.partition("```")
    return block.removesuffix("\n") if closing else text.strip()


def _in_words(caption: str, taken: Mapping[str, Part]) -> str:
    """A caption for a tool, which knows no tags: ``<<image2>>`` becomes ``image 1``
    where that one comes first."""
    seen: dict[str, int] = {}
    names: dict[str, str] = {}
    for label, part in taken.items():
        seen[part.kind] = seen.get(part.kind, 0) + 1
        names[label] = f"{part.kind} {seen[part.kind]}"
    pieces, at = [], 0
    for tag in find(caption, TAG):
        pieces.append(caption[at : tag.start])
        pieces.append(names.get(tag.label, tag.kind))
        at = tag.end
    return "".join([*pieces, caption[at:]])
