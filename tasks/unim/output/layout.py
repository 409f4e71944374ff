"""The layout of UniM's released scripts: records like the data's, with the answer.

    <field>/<domain>/answers.jsonl         an object a line: domain (the field), subdomain (the domain), id,
                                           difficulty_level, input, output
    <field>/<domain>/image/img_<id>_<nn>.png, audio/, video/, document/, threeD/

``output.content`` is the text with tags, ``output.modal`` maps the tag's name
(``image2``, ``threeD1``) to a path or to the words of code. One script looks for a path
beside the file of the record, the other below <field>/<domain> of a base folder: here
both are the same place.

The scripts find a tag by its exact name in brackets, ``<image2>`` or ``<<image2>>``.
Other spellings (``<3d1>``, ``<Image 2>``) are converted. A medium without a tag is only
a key of ``modal``: the benchmark counts tags, so none is added to the model's text.

One script separates records by counting braces, even in strings; the other reads until
a text is complete, and breaks at line ends that are not line ends in JSON. Records are
written in ASCII, on one line, with the braces of strings escaped, which means the same
to every reader of JSON.

Everything without a place in the layout is kept where those scripts do not look:

    the key ``mmeval`` of a record         {"parts": "[...]", "of": "..."}: every part of an answer that its record does
                                           not say by itself, as JSON in a text, which may hold broken characters
    the key ``repeat``, from 1             a further answer to the same question; it stands in a file of its own,
                                           answers_repeat<n>.jsonl, since a script scores a file as a whole
    mmeval.json                            whose answers they are, and the failures (``failed``)
"""  # noqa: E501

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mmeval.media import Interleaved, Media, Part, PartKind, Tag, find
from mmeval.records import Sample, digest
from mmeval.tasks.unim.domains import domain_of
from mmeval.tasks.unim.labels import Names, field_of, word

WORDS: Mapping[str, str] = {
    "image": "image",
    "audio": "audio",
    "video": "video",
    "document": "document",
    "code": "code",
    "3d": "threeD",
}
"""The words for a kind in tags, keys and folders."""
SHORT = {
    "image": "img",
    "audio": "aud",
    "video": "vid",
    "document": "doc",
    "code": "cod",
    "3d": "thd",
}
"""The prefixes of media files' names."""

_SPELLINGS = ("tag",)
_KNOWN = re.compile(r"<((?:code|image|document|audio|video|threeD)[0-9]+)>")
"""A tag as the released scripts find it."""
_TAGGED = re.compile(r"<++[^<>]*+>*+")
"""A tag, with or without a caption in it."""
_LABEL = re.compile(
    r"(?P<kind>image|audio|video|document|code|3d)(?P<number>[0-9]{1,9})"
)
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"[a-z0-9_]{1,100}")


class AnswerKey(NamedTuple):
    """The question of an answer. Ids repeat across domains."""

    field: str
    domain: str
    id: str


def key_of(names: Names, number: str) -> AnswerKey:
    """The key of a question; known spellings of a domain are the same."""
    known = domain_of(names.domain)
    domain = names.domain if known is None else known.name
    return AnswerKey(names.field, domain, number)


def key_of_sample(sample: Sample) -> AnswerKey | None:
    """The key of a sample; None for other benchmarks."""
    names = names_of_sample(sample)
    if names is None:
        return None
    return key_of(names, sample.id.removeprefix(f"{names.field}/{names.domain}/"))


def names_of_sample(sample: Sample) -> Names | None:
    """Field and domain in the labels of a sample."""
    labels = sample.metadata
    names = Names(str(labels.get("field")), str(labels.get("domain")))
    is_field = field_of(names.field) == names.field
    is_domain = _NAME.fullmatch(names.domain) and word(names.domain) == names.domain
    is_id = sample.id.startswith(f"{names.field}/{names.domain}/")
    return names if is_field and is_domain and is_id else None


def same_question(said: str, sample: Sample) -> bool:
    """Whether a record's question, if not empty, is the sample's outside of tags."""
    words = _TAGGED.sub(" ", said).split()
    return not said.strip() or words == _TAGGED.sub(" ", sample.question).split()


def to_text(row: Mapping[str, Any]) -> bytes:
    """A record as one line of ASCII. The braces of its strings are escaped."""

    def escaped(string: re.Match[str]) -> str:
        return string[0].replace("{", "\\u007b").replace("}", "\\u007d")

    text = json.dumps(row, allow_nan=False)
    return _STRING.sub(escaped, text).encode() + b"\n"


def seal(content: object, modal: object) -> str:
    """A digest of a record, so that parts of another answer are not used for this
    one."""
    return digest([content, modal])


def whole_text(text: str) -> str:
    """The text with a mark for each half of a character, which scripts cannot write."""
    return _HALF_CHARACTER.sub("\ufffd", text)


def tag_of(key: str) -> Tag | None:
    """The tag of a key of ``modal``, in any spelling; None for other keys."""
    bare = key.strip().strip("<>").strip()
    tag = next(find(f"<{bare}>", _SPELLINGS), None)
    return tag if tag is not None and tag.raw == f"<{bare}>" else None


@dataclass(frozen=True)
class Flat:
    """An answer in a record; ``modal`` has media and code texts by key, in order."""

    content: str
    modal: Mapping[str, Media | str] = field(default_factory=dict)


def read_flat(flat: Flat, lost: Mapping[str, PartKind] | None = None) -> Interleaved:
    """The answer in a record alone. ``lost`` are kinds of missing media by label; those
    without a tag follow the text as parts without a medium."""
    output = Interleaved.from_text(flat.content, flat.modal, spellings=_SPELLINGS)
    labels = {part.label for part in output.parts}
    parts = list(output.parts)
    for label, kind in (lost or {}).items():
        if label not in labels:
            parts.append(Part(kind, label=label))
    return Interleaved(tuple(parts))


def flattened(output: Interleaved, question: str = "") -> Flat:
    """An answer in the form of a record, without hidden reasoning.
    Keys without a tag continue the numbers of the question, as in the data set."""
    parts = [part for part in output.parts if part.kind != "reasoning"]
    keys = _keys(parts, question)
    content: list[str] = []
    modal: dict[str, Media | str] = {}
    for place, part in enumerate(parts):
        item = _item(part)
        if item is None:
            content.append(part.raw)
            continue
        key = keys[place]
        # code is a text in the layout, even if given as a file
        if _kind(part) == "code" and not isinstance(item, str):
            item = item.read().decode(errors="replace")
        modal[key] = whole_text(item) if isinstance(item, str) else item
        if part.raw:
            # the tag stays as it was written, if the scripts find it
            known = _KNOWN.search(part.raw)
            is_found = known is not None and known[1] == key
            content.append(part.raw if is_found else f"<{key}>")
    return Flat(whole_text("".join(content)), modal)


def _item(part: Part) -> Media | str | None:
    """The item of a part besides its text: a medium, or code with a tag."""
    if part.media is not None:
        return part.media
    return part.text if part.kind == "code" and part.raw != part.text else None


def _kind(part: Part) -> str:
    if part.kind in WORDS or part.media is None:
        return part.kind
    return part.media.kind


def _keys(parts: list[Part], question: str) -> dict[int, str]:
    """The key of each part that has one, by its position. A part keeps its tag's number
    unless it is taken, also without a medium; media without a tag get free numbers."""
    tagged: dict[int, Part] = {}
    loose: dict[int, Part] = {}
    dangling: set[str] = set()
    written: set[str] = set()
    for place, part in enumerate(parts):
        if _item(part) is None:
            dangling.update(_names_in(part.raw))
        elif part.raw:
            tagged[place] = part
            written.update(_names_in(part.raw))
        else:
            loose[place] = part
    keys = _Keys(dangling)
    named = {place: keys.own(part) for place, part in tagged.items()}
    keys.taken |= written
    named |= {place: keys.own(part) for place, part in loose.items()}
    keys.taken.update(_names_in(question))
    for place in sorted(named):
        named[place] = named[place] or keys.free(parts[place])
    return named


def _names_in(text: str) -> Iterator[str]:
    return (f"{WORDS[tag.kind]}{tag.index}" for tag in find(text, _SPELLINGS))


class _Keys:
    """Gives each item of an answer a key, the same for the same item and label."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self._items: dict[str, Media | str | None] = {}
        self._last: dict[str, int] = {}

    def own(self, part: Part) -> str:
        """The key of a part's label; empty if it is not free."""
        label, kind = _LABEL.fullmatch(part.label), _kind(part)
        if label is None or label["kind"] != kind:
            return ""
        name = f"{WORDS[kind]}{int(label['number'])}"
        if name in self._items:
            return name if self._items[name] == _item(part) else ""
        if name in self.taken:
            return ""
        self._items[name] = _item(part)
        return name

    def free(self, part: Part) -> str:
        """The next free key."""
        kind = WORDS[_kind(part)]
        number = self._last.get(kind, 0) + 1
        while f"{kind}{number}" in self.taken or f"{kind}{number}" in self._items:
            number += 1
        self._last[kind] = number
        return f"{kind}{number}"
