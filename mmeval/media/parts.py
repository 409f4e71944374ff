"""Parts of content, and the sequence of parts of a prompt, answer or reference."""

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
PART_KINDS: tuple[PartKind, ...] = get_args(PartKind)


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of content.

    ``text`` holds the words of text, code and reasoning, ``media`` everything that has
    bytes. ``raw`` is what stands in the raw text for this part: the words themselves, a
    placeholder, or nothing (a picture that came beside the text). A placeholder without
    its medium is *dangling*: benchmarks count tags, files, or both, and their rule
    decides. ``label`` is the placeholder's kind and number (``image1``).
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
    return Part("text", text=text, raw=text)


def media_part(media: Media, kind: PartKind | None = None) -> Part:
    """A medium without a placeholder; the MIME type gives its kind by default."""
    return Part(kind or media.kind, media=media)


@dataclass(frozen=True, slots=True)
class Interleaved:
    """An ordered sequence of parts: the one type of prompts, answers and references."""

    parts: tuple[Part, ...] = ()

    @classmethod
    def from_text(
        cls,
        text: str,
        media: Mapping[str, Media | str] | None = None,
        *,
        spellings: Sequence[str] = DEFAULT_SPELLINGS,
    ) -> Interleaved:
        """Text with placeholders; ``media`` maps ``image1`` to media, ``code1`` to
        words.

        A placeholder that the mapping does not know becomes a dangling part; a medium
        that no placeholder names is appended, in the mapping's order. A placeholder
        without a number is the n-th of its kind. ``Interleaved.from_text(t).raw == t``
        for every text.
        """
        if not media and "<" not in text and "#" not in text:
            return cls((text_part(text),) if text else ())
        given: dict[str, Media | str] = {}
        for label, item in (media or {}).items():
            given[canonical_label(label)] = item
        tags = list(find(text, spellings))
        items: list[Media | str | None] = []
        named: set[str] = set()
        unnumbered: Counter[str] = Counter()
        for tag in tags:
            name = tag.label
            if tag.index is None:  # it is counted among its like
                unnumbered[tag.kind] += 1
                name = f"{tag.kind}{unnumbered[tag.kind]}"
            named.add(name)
            items.append(given.get(name))
        parts = _weave(text, tags, items)
        for label, item in given.items():
            if label in named:
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
        """A reply whose media came beside its text, without labels.

        The n-th distinct placeholder of a kind gets the n-th medium of that kind, and
        media without a placeholder follow the text in their order. A medium has the
        kind of its content, or of the part that holds it.
        """
        beside: list[Part] = []
        for item in media:
            beside.append(media_part(item) if isinstance(item, Media) else item)
        written = cls.from_text(text, spellings=spellings)
        return cls(tuple(_filled(written.parts, beside)))

    @property
    def raw(self) -> str:
        """The text as it was written, placeholders and in-text reasoning included."""
        return "".join(part.raw for part in self.parts)

    @property
    def text(self) -> str:
        """The answer's text as written, with placeholders, without hidden reasoning."""
        return "".join(part.raw for part in self.parts if part.kind != "reasoning")

    @property
    def words(self) -> str:
        """The text parts alone; where other parts are left out, a blank separates
        words."""
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
        """The media in order, of one kind or of all; dangling placeholders have
        none."""
        found: list[Media] = []
        for part in self.parts:
            if part.media is not None and kind in (None, part.kind):
                found.append(part.media)
        return tuple(found)

    @property
    def empty(self) -> bool:
        """True for nothing but white space and reasoning: no medium, placeholder or
        code."""
        for part in self.parts:
            is_blank = part.kind == "text" and not (part.text or "").strip()
            if part.kind != "reasoning" and not is_blank:
                return False
        return True

    def rendered(self, spelling: str = "tag") -> str:
        """The text with non-text parts as fresh placeholders, numbered by order per
        kind."""
        seen: dict[str, int] = {}
        out: list[str] = []
        for part in self.parts:
            if part.kind == "reasoning":
                continue
            if part.kind == "text":
                out.append(part.text or "")
                continue
            seen[part.kind] = seen.get(part.kind, 0) + 1
            out.append(render(part.kind, seen[part.kind], spelling))
        return "".join(out)

    def filled(self, media: Sequence[Media]) -> Interleaved:
        """The content with media for its dangling placeholders.

        The n-th distinct one of a kind gets the n-th medium of that kind; the other
        media follow in their order. Every other part stays as it is.
        """
        return Interleaved(tuple(_filled(self.parts, map(media_part, media))))

    def respelled(self, spellings: Sequence[str]) -> Interleaved:
        """The same answer, placeholders read in other spellings; its raw text stays.

        What a placeholder stands for stays with it. Media and words that follow the
        text, and those whose placeholder is none in these spellings, go where
        :meth:`filled` puts them, a labelled one only to its own placeholder; what
        stands between texts keeps its place.
        """
        parts: list[Part] = []
        loose: list[Part] = []
        behind: list[Part] = []
        for is_written, run in groupby(self.parts, key=_is_written):
            if is_written:
                parts += behind
                behind = []
                read, unread = _read_again(list(run), spellings)
                parts += read
                loose += unread
            else:
                behind = list(run)
        # what no text follows
        for part in behind:
            (parts if part.kind == "reasoning" else loose).append(part)
        again = tuple(_filled(parts, loose))
        return self if again == self.parts else Interleaved(again)

    def blocks(self) -> Interleaved:
        """The same answer as blocks: neighbouring texts as one, stripped, none of them
        blank.

        Texts are joined as they are written, with a line break where they would run
        into each other. Texts around hidden reasoning are joined; the reasoning is put
        before them.
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
    """Parts whose dangling placeholders hold what is loose. Each distinct one holds the
    next part of its kind that has its label or none; the rest follows in its order."""
    open_: dict[str, Part] = {}
    for at, part in enumerate(parts):
        if part.dangling:
            open_.setdefault(_place(part, at), part)
    given: dict[str, Part] = {}
    left: list[Part] = []
    for part in loose:
        for place, hole in open_.items():
            if hole.kind == part.kind and part.label in ("", hole.label):
                given[place] = part
                del open_[place]
                break
        else:
            left.append(part)
    filled: list[Part] = []
    for at, part in enumerate(parts):
        held = given.get(_place(part, at)) if part.dangling else None
        if held is None:
            filled.append(part)
        else:
            filled.append(replace(part, media=held.media, text=held.text))
    return filled + left


def _place(part: Part, at: int) -> str:
    """A placeholder's identity: its label, or its position when it has no number."""
    return part.label if part.label[-1:].isdigit() else f"@{at}"


def _read_again(
    run: Sequence[Part], spellings: Sequence[str]
) -> tuple[list[Part], list[Part]]:
    """The parts of a written run with its placeholders read in some spellings.
    Also what no placeholder stands for now: its placeholder has become words."""
    held: dict[int, Part] = {}
    at = 0
    for part in run:
        if part.kind != "text" and not part.dangling:
            held[at] = part
        at += len(part.raw)
    text = "".join(part.raw for part in run)
    tags = [tag for tag in find(text, spellings) if tag.kind != "text"]
    items: list[Media | str | None] = []
    for tag in tags:
        item: Media | str | None = None
        there = held.get(tag.start)
        if there is not None and there.raw == tag.raw and there.kind == tag.kind:
            item = there.media or there.text
            del held[tag.start]
        items.append(item)
    unread = [replace(part, raw="", label="") for part in held.values()]
    return _weave(text, tags, items), unread


def _is_written(part: Part) -> bool:
    return part.raw != "" and part.kind != "reasoning"


def _run_together(words: str, text: str) -> bool:
    """Whether two texts would be one word where they meet."""
    if not words or not text:
        return False
    return not words[-1].isspace() and not text[0].isspace()


def split_reasoning(
    text: str,
    opening: str,
    closing: str,
) -> list[Part]:
    """Cut text at hidden reasoning, ``<think>...</think>``; parts keep their raw text.

    An opening tag that is never closed hides the rest (the model ran out of tokens
    while thinking); a closing tag without an opening one hides what stands before it
    (chat templates often write the opening tag themselves). Nested pairs are one part;
    an opening tag that is merely mentioned while thinking does not keep the answer
    hidden.
    """
    marks: list[re.Match[str]] = []
    if opening and closing:
        pattern = f"{re.escape(opening)}|{re.escape(closing)}"
        marks = list(re.finditer(pattern, text))
    parts: list[Part] = []
    at = here = 0
    if marks and marks[0][0] == closing != opening:
        hidden = text[: marks[0].start()]
        at = marks[0].end()
        here = 1
        parts.append(_reasoning(text[:at], hidden))
    while here < len(marks):
        start = marks[here]
        if start[0] != opening:
            here += 1  # it closes nothing: words of the answer
            continue
        last = _closing_mark(marks, here, closing)
        if start.start() > at:
            parts.append(text_part(text[at : start.start()]))
        inner_end = at = len(text)
        here = len(marks)
        if last is not None:
            inner_end, at = marks[last].span()
            here = last + 1
        parts.append(
            _reasoning(text[start.start() : at], text[start.end() : inner_end])
        )
    if at < len(text):
        parts.append(text_part(text[at:]))
    return parts


def _reasoning(raw: str, inner: str) -> Part:
    return Part("reasoning", text=inner.strip(), raw=raw)


def _closing_mark(
    marks: Sequence[re.Match[str]], opened: int, closing: str
) -> int | None:
    """The mark that ends the reasoning begun by mark ``opened``; None if never
    closed."""
    at = opened + 1
    while at < len(marks) and marks[at][0] != closing:
        at += 1
    if at == len(marks):
        return None
    nested = at - opened - 1
    while nested and at + 1 < len(marks) and marks[at + 1][0] == closing:
        at, nested = at + 1, nested - 1
    return at


def _weave(
    text: str, tags: Sequence[Tag], items: Sequence[Media | str | None]
) -> list[Part]:
    """The parts of a text cut at its placeholders."""
    parts: list[Part] = []
    at = 0
    for tag, item in zip(tags, items, strict=True):
        if tag.kind == "text":
            # a block token for text stands for words that are somewhere else; it stays
            # as it is written
            continue
        if tag.start > at:
            parts.append(text_part(text[at : tag.start]))
        words = item if isinstance(item, str) else None
        media = item if isinstance(item, Media) else None
        parts.append(Part(tag.kind, words, media, tag.raw, tag.label))
        at = tag.end
    if at < len(text):
        parts.append(text_part(text[at:]))
    return parts
