"""The parts of content, and their sequence in a prompt, answer or reference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args

from mmeval.media.media import Media
from mmeval.media.placeholders import (
    DEFAULT_SPELLINGS,
    Tag,
    canonical_label,
    find,
    label_kind,
    render,
)

PartKind = Literal[
    "text", "code", "image", "audio", "video", "document", "3d", "reasoning"
]
"""The kind of a part: text, code, hidden reasoning, or a kind of media."""
PART_KINDS: tuple[PartKind, ...] = get_args(PartKind)
"""All kinds of parts."""
TEXT_ITEM = "item"
"""The label of a text that is an item of its own in a request."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of content: a text, a medium, or a placeholder without a medium.

    - ``text``: the text of a part of the kind text, code or reasoning.
    - ``media``: the medium of a part of another kind.
    - ``raw``: the part as it is written in the raw text. This is its text or a
      placeholder. It is empty for a medium that the text does not mention.
    - ``label``: the kind and number that a placeholder states (``image1``).

    A placeholder without a medium is *dangling*. It is kept as a part, because some
    benchmarks count placeholders, some count files, and some count both.
    """

    kind: PartKind
    text: str | None = None
    media: Media | None = None
    raw: str = ""
    label: str = ""

    @property
    def dangling(self) -> bool:
        return self.media is None and self.text is None

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"type": self.kind}
        if self.text is not None:
            row["text"] = self.text
        if self.media is not None:
            row["media"] = self.media.to_json()
        if self.raw != (self.text or ""):
            row["raw"] = self.raw
        if self.label:
            row["label"] = self.label
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any], media_root: Path) -> Part:
        media, text = row.get("media"), row.get("text")
        return cls(
            kind=row["type"],
            text=text,
            media=None if media is None else Media.from_json(media, media_root),
            raw=row.get("raw", text or ""),
            label=row.get("label", ""),
        )


def text_part(text: str) -> Part:
    """Returns a text as a part."""
    return Part("text", text=text, raw=text)


def text_item(text: str) -> Part:
    """Returns a text that a request sends as an item of its own.

    Other texts that follow each other are sent as one item.
    """
    return Part("text", text=text, raw=text, label=TEXT_ITEM)


def media_part(media: Media, kind: PartKind | None = None) -> Part:
    """Returns a medium as a part without a placeholder.

    By default, the kind of the part depends on the MIME type.
    """
    return Part(kind or media.kind, media=media)


@dataclass(frozen=True, slots=True)
class Interleaved:
    """An ordered sequence of parts: the type of prompts, answers and references."""

    parts: tuple[Part, ...] = ()

    @classmethod
    def from_text(
        cls,
        text: str,
        media: Mapping[str, Media | str] | None = None,
        *,
        spellings: Sequence[str] = DEFAULT_SPELLINGS,
    ) -> Interleaved:
        """Parses a text with placeholders.

        ``media`` maps labels to media (``image1``) or text (``code1``). A placeholder
        without an entry becomes a dangling part. Media without a placeholder are
        appended, in the order of the mapping. Placeholders without a number are
        numbered separately for each kind. ``Interleaved.from_text(t).raw == t`` for
        every text.
        """
        if not media and "<" not in text and "#" not in text:
            return cls((text_part(text),) if text else ())
        by_label: dict[str, Media | str] = {}
        for label, item in (media or {}).items():
            by_label[canonical_label(label)] = item
        tags = list(find(text, spellings))
        items: list[Media | str | None] = []
        used_labels: set[str] = set()
        unnumbered: Counter[str] = Counter()
        for tag in tags:
            name = tag.label
            # A placeholder without a number is numbered by its position among its kind.
            if tag.index is None:
                unnumbered[tag.kind] += 1
                name = f"{tag.kind}{unnumbered[tag.kind]}"
            used_labels.add(name)
            items.append(by_label.get(name))
        parts = _weave(text, tags, items)
        for label, item in by_label.items():
            if label in used_labels:
                continue
            kind = label_kind(label)
            if isinstance(item, str):
                parts.append(Part(kind or "code", text=item, label=label))
                continue
            if kind is None or kind in ("text", "code"):
                kind = item.kind
            parts.append(Part(kind, media=item, label=label))
        return cls(tuple(parts))

    @classmethod
    def from_reply(
        cls,
        text: str,
        media: Sequence[Media | Part],
        *,
        spellings: Sequence[str] = DEFAULT_SPELLINGS,
    ) -> Interleaved:
        """Returns the content of a reply that keeps media separate from its text.

        The media of such a reply have no labels.

        The n-th distinct placeholder of a kind gets the n-th medium of that kind. Media
        without a placeholder follow the text, in order. The kind of a medium is the
        kind of its content, or of the part that contains it.
        """
        media_parts: list[Part] = []
        for item in media:
            media_parts.append(media_part(item) if isinstance(item, Media) else item)
        parsed = cls.from_text(text, spellings=spellings)
        return cls(tuple(_filled(parsed.parts, media_parts)))

    @property
    def raw(self) -> str:
        """The text as written, including placeholders and reasoning."""
        return "".join(part.raw for part in self.parts)

    @property
    def text(self) -> str:
        """The text as written, including placeholders, without hidden reasoning."""
        return "".join(part.raw for part in self.parts if part.kind != "reasoning")

    @property
    def words(self) -> str:
        """The text of all text parts.

        A space is inserted where another part separates two words.
        """
        words = ""
        was_text = True
        for part in self.parts:
            if part.kind != "text":
                was_text = False
            elif part.text:
                if not was_text and _run_together(words, part.text):
                    words += " "
                words += part.text
                was_text = True
        return words

    def media(self, kind: PartKind | None = None) -> tuple[Media, ...]:
        """Returns all media in order, or those of one kind.

        Dangling placeholders have no medium.
        """
        media: list[Media] = []
        for part in self.parts:
            if part.media is not None and kind in (None, part.kind):
                media.append(part.media)
        return tuple(media)

    @property
    def empty(self) -> bool:
        """True if there is only white space and reasoning."""
        for part in self.parts:
            is_blank = part.kind == "text" and not (part.text or "").strip()
            if part.kind != "reasoning" and not is_blank:
                return False
        return True

    def rendered(self, spelling: str = "tag") -> str:
        """Returns the text with new placeholders for other parts, numbered per kind."""
        counts: dict[str, int] = {}
        out: list[str] = []
        for part in self.parts:
            if part.kind == "reasoning":
                continue
            if part.kind == "text":
                out.append(part.text or "")
                continue
            counts[part.kind] = counts.get(part.kind, 0) + 1
            out.append(render(part.kind, counts[part.kind], spelling))
        return "".join(out)

    def filled(self, media: Sequence[Media]) -> Interleaved:
        """Returns the content with media for its dangling placeholders.

        The n-th distinct placeholder of a kind gets the n-th medium of that kind. Other
        media are appended in order. All other parts remain unchanged.
        """
        return Interleaved(tuple(_filled(self.parts, map(media_part, media))))

    def respelled(self, spellings: Sequence[str]) -> Interleaved:
        """Returns the same answer, parsed in other placeholder spellings.

        The raw text does not change. A placeholder that is valid in the old and the new
        spellings keeps its medium or text. Contents that lose their placeholder, and
        contents after the text, are assigned to placeholders as in :meth:`filled`. A
        content with a label is assigned only to the placeholder with this label. A part
        between two texts remains between them.
        """
        parts: list[Part] = []
        loose: list[Part] = []
        unwritten: list[Part] = []
        for is_written, run in groupby(self.parts, key=_is_written):
            if is_written:
                parts += unwritten
                unwritten = []
                parsed, unassigned = _reparsed(list(run), spellings)
                parts += parsed
                loose += unassigned
            else:
                unwritten = list(run)
        # Parts after the last text are assigned to placeholders, except reasoning.
        for part in unwritten:
            (parts if part.kind == "reasoning" else loose).append(part)
        respelled_parts = tuple(_filled(parts, loose))
        return self if respelled_parts == self.parts else Interleaved(respelled_parts)

    def blocks(self) -> Interleaved:
        """Returns the same answer as blocks.

        Adjacent texts are joined, white space at their ends is removed, and blank texts
        are left out.

        Within joined texts, only a line break is inserted where two words would run
        together. Texts around hidden reasoning are joined after the reasoning.
        """
        parts: list[Part] = []
        words = ""
        for part in self.parts:
            if part.kind == "text":
                text = part.text or ""
                words += f"\n{text}" if _run_together(words, text) else text
                continue
            if part.kind != "reasoning":
                if words.strip():
                    parts.append(text_part(words.strip()))
                words = ""
            parts.append(part)
        if words.strip():
            parts.append(text_part(words.strip()))
        return self if tuple(parts) == self.parts else Interleaved(tuple(parts))

    def to_json(self) -> list[dict[str, Any]]:
        return [part.to_json() for part in self.parts]

    @classmethod
    def from_json(
        cls, rows: Iterable[Mapping[str, Any]], media_root: Path
    ) -> Interleaved:
        return cls(tuple(Part.from_json(row, media_root) for row in rows))


def _filled(parts: Sequence[Part], loose: Iterable[Part]) -> list[Part]:
    """Returns the parts, with dangling placeholders replaced by ``loose`` parts.

    Each distinct placeholder is replaced by the next part of its kind that has the same
    label or no label. The remaining parts are appended in order.
    """
    open_places: dict[str, Part] = {}
    for index, part in enumerate(parts):
        if part.dangling:
            open_places.setdefault(_place(part, index), part)
    assigned: dict[str, Part] = {}
    remaining: list[Part] = []
    for part in loose:
        for place, dangling in open_places.items():
            if dangling.kind == part.kind and part.label in ("", dangling.label):
                assigned[place] = part
                del open_places[place]
                break
        else:
            remaining.append(part)
    filled: list[Part] = []
    for index, part in enumerate(parts):
        content = assigned.get(_place(part, index)) if part.dangling else None
        if content is None:
            filled.append(part)
        else:
            filled.append(replace(part, media=content.media, text=content.text))
    return filled + remaining


def _place(part: Part, index: int) -> str:
    """Returns the identity of a placeholder.

    The identity is the label, or the index of the part if the placeholder has no
    number.
    """
    return part.label if part.label[-1:].isdigit() else f"@{index}"


def _reparsed(
    run: Sequence[Part], spellings: Sequence[str]
) -> tuple[list[Part], list[Part]]:
    """Parses the raw text of adjacent parts again, with other placeholder spellings.

    Returns the parsed parts, and the contents that have lost their placeholder because
    it is now text.
    """
    by_offset: dict[int, Part] = {}
    offset = 0
    for part in run:
        if part.kind != "text" and not part.dangling:
            by_offset[offset] = part
        offset += len(part.raw)
    text = "".join(part.raw for part in run)
    tags = [tag for tag in find(text, spellings) if tag.kind != "text"]
    items: list[Media | str | None] = []
    for tag in tags:
        item: Media | str | None = None
        part_at_tag = by_offset.get(tag.start)
        if (
            part_at_tag is not None
            and part_at_tag.raw == tag.raw
            and part_at_tag.kind == tag.kind
        ):
            item = part_at_tag.media or part_at_tag.text
            del by_offset[tag.start]
        items.append(item)
    unassigned = [replace(part, raw="", label="") for part in by_offset.values()]
    return _weave(text, tags, items), unassigned


def _is_written(part: Part) -> bool:
    return part.raw != "" and part.kind != "reasoning"


def _run_together(words: str, text: str) -> bool:
    """Returns True if two texts would form one word where they meet."""
    if not words or not text:
        return False
    return not words[-1].isspace() and not text[0].isspace()


def split_reasoning(
    text: str,
    opening: str,
    closing: str,
) -> list[Part]:
    """Splits a text at hidden reasoning. Parts keep their raw text.

    An opening tag (``<think>``) without a closing tag hides the rest, because the model
    then ran out of tokens while thinking. A closing tag without an opening tag hides
    the text before it, because chat templates often write the opening tag. Nested pairs
    of tags become one part. An opening tag that is only mentioned in the reasoning does
    not hide the answer.
    """
    marks: list[re.Match[str]] = []
    if opening and closing:
        pattern = f"{re.escape(opening)}|{re.escape(closing)}"
        marks = list(re.finditer(pattern, text))
    parts: list[Part] = []
    offset = index = 0
    if marks and marks[0][0] == closing != opening:
        hidden = text[: marks[0].start()]
        offset = marks[0].end()
        index = 1
        parts.append(_reasoning(text[:offset], hidden))
    while index < len(marks):
        start = marks[index]
        if start[0] != opening:
            index += 1  # A later closing tag without an opening tag is plain text.
            continue
        last = _closing_mark(marks, index, closing)
        if start.start() > offset:
            parts.append(text_part(text[offset : start.start()]))
        inner_end = offset = len(text)
        index = len(marks)
        if last is not None:
            inner_end, offset = marks[last].span()
            index = last + 1
        parts.append(
            _reasoning(text[start.start() : offset], text[start.end() : inner_end])
        )
    if offset < len(text):
        parts.append(text_part(text[offset:]))
    return parts


def _reasoning(raw: str, inner: str) -> Part:
    return Part("reasoning", text=inner.strip(), raw=raw)


def _closing_mark(
    marks: Sequence[re.Match[str]], opening_index: int, closing: str
) -> int | None:
    """Returns the index of the mark that closes the reasoning that a mark opens.

    The result is None if the reasoning is not closed.
    """
    index = opening_index + 1
    while index < len(marks) and marks[index][0] != closing:
        index += 1
    if index == len(marks):
        return None
    nested = index - opening_index - 1
    while nested and index + 1 < len(marks) and marks[index + 1][0] == closing:
        index, nested = index + 1, nested - 1
    return index


def _weave(
    text: str, tags: Sequence[Tag], items: Sequence[Media | str | None]
) -> list[Part]:
    """Cuts a text at its placeholders, and returns the parts."""
    parts: list[Part] = []
    offset = 0
    for tag, item in zip(tags, items, strict=True):
        if tag.kind == "text":
            # A block token for text refers to text elsewhere, so it is not replaced.
            continue
        if tag.start > offset:
            parts.append(text_part(text[offset : tag.start]))
        words = item if isinstance(item, str) else None
        media = item if isinstance(item, Media) else None
        parts.append(Part(tag.kind, words, media, tag.raw, tag.label))
        offset = tag.end
    if offset < len(text):
        parts.append(text_part(text[offset:]))
    return parts
