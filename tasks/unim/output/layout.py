"""The layout of UniM's released scripts: records as in the data, with answers.

    <field>/<domain>/answers.jsonl         an object per line: domain (the field), subdomain (the domain), id,
                                           difficulty_level, input, output
    <field>/<domain>/image/img_<id>_<nn>.png, audio/, video/, document/, threeD/

``output.content`` is the text with tags. ``output.modal`` maps the name of a tag
(``image2``, ``threeD1``) to a path or to the text of code. One script looks for the
path in the folder of the record's file. The other looks for it in <field>/<domain> of a
base folder. In mmeval's exports both are the same folder.

The scripts find a tag by its exact name in brackets, ``<image2>`` or ``<<image2>>``.
Other spellings (``<3d1>``, ``<Image 2>``) are converted. A medium without a tag is only
a key of ``modal``. The benchmark counts tags, so no tag is added to the model's text.

One script separates records by counting braces, even in strings. The other reads until
an object is complete, and fails on characters that Python treats as line ends but JSON
does not. Records are therefore written in ASCII, on one line, with escaped braces in
strings. Every JSON reader reads them the same way.

Content that the layout cannot express is kept where the scripts do not read:

    the key ``mmeval`` of a record         {"parts": "[...]", "of": "..."}: the parts of an answer that its record cannot
                                           express, as JSON in a string, which may contain broken characters
    the key ``repeat``, from 1             a further answer to the same question, in the file answers_repeat<n>.jsonl,
                                           since a script scores a file as a whole
    mmeval.json                            the model, and the failures (``failed``)
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
from mmeval.tasks.unim.labels import FieldDomain, field_of, word

WORDS: Mapping[str, str] = {
    "image": "image",
    "audio": "audio",
    "video": "video",
    "document": "document",
    "code": "code",
    "3d": "threeD",
}
"""The word for each kind in tags, keys and folder names."""
SHORT = {
    "image": "img",
    "audio": "aud",
    "video": "vid",
    "document": "doc",
    "code": "cod",
    "3d": "thd",
}
"""The prefix of media files' names for each kind."""

_SPELLINGS = ("tag",)
_KNOWN = re.compile(r"<((?:code|image|document|audio|video|threeD)[0-9]+)>")
"""A tag that the released scripts can find."""
_TAGGED = re.compile(r"<++[^<>]*+>*+")
"""A tag, which may contain a caption."""
_LABEL = re.compile(
    r"(?P<kind>image|audio|video|document|code|3d)(?P<number>[0-9]{1,9})"
)
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"[a-z0-9_]{1,100}")


class AnswerKey(NamedTuple):
    """Identifies a question. Ids alone do not, since they repeat across domains."""

    field: str
    domain: str
    id: str


def key_of(names: FieldDomain, number: str) -> AnswerKey:
    """Returns the key of a question, the same for all known spellings of its domain."""
    known = domain_of(names.domain)
    domain = names.domain if known is None else known.name
    return AnswerKey(names.field, domain, number)


def key_of_sample(sample: Sample) -> AnswerKey | None:
    """Returns the key of a sample, or None for a sample of another benchmark."""
    names = names_of_sample(sample)
    if names is None:
        return None
    return key_of(names, sample.id.removeprefix(f"{names.field}/{names.domain}/"))


def names_of_sample(sample: Sample) -> FieldDomain | None:
    """Returns field and domain in a sample's labels, or None if they are not UniM's."""
    labels = sample.metadata
    names = FieldDomain(str(labels.get("field")), str(labels.get("domain")))
    is_field = field_of(names.field) == names.field
    is_domain = _NAME.fullmatch(names.domain) and word(names.domain) == names.domain
    is_id = sample.id.startswith(f"{names.field}/{names.domain}/")
    return names if is_field and is_domain and is_id else None


def same_question(question: str, sample: Sample) -> bool:
    """Compares a record's question with that of the sample, ignoring tags.

    Returns True if they are equal or the record's question is empty.
    """
    words = _TAGGED.sub(" ", question).split()
    return not question.strip() or words == _TAGGED.sub(" ", sample.question).split()


def to_text(row: Mapping[str, Any]) -> bytes:
    """Writes a record as one line of ASCII, with escaped braces in strings."""

    def escaped(string: re.Match[str]) -> str:
        return string[0].replace("{", "\\u007b").replace("}", "\\u007d")

    text = json.dumps(row, allow_nan=False)
    return _STRING.sub(escaped, text).encode() + b"\n"


def seal(content: object, modal: object) -> str:
    """Returns the digest of a record, which is stored with an answer's exact parts.

    The exact parts are only used if the record has not changed.
    """
    return digest([content, modal])


def whole_text(text: str) -> str:
    """Replaces lone surrogates by U+FFFD, since the scripts cannot write them."""
    return _HALF_CHARACTER.sub("\ufffd", text)


def tag_of(key: str) -> Tag | None:
    """Reads a key of ``modal`` as a tag in any spelling, or returns None."""
    bare = key.strip().strip("<>").strip()
    tag = next(find(f"<{bare}>", _SPELLINGS), None)
    return tag if tag is not None and tag.raw == f"<{bare}>" else None


@dataclass(frozen=True)
class RecordAnswer:
    """An answer in a record. ``modal`` maps keys to media and code, in order."""

    content: str
    modal: Mapping[str, Media | str] = field(default_factory=dict)


def read_record_answer(
    record_answer: RecordAnswer, missing: Mapping[str, PartKind] | None = None
) -> Interleaved:
    """Reads an answer from the record's ``output``, ignoring its exact parts.

    ``missing`` maps the labels of missing media to their kinds. Missing media without a
    tag follow the text as parts without a medium.
    """
    output = Interleaved.from_text(
        record_answer.content, record_answer.modal, spellings=_SPELLINGS
    )
    labels = {part.label for part in output.parts}
    parts = list(output.parts)
    for label, kind in (missing or {}).items():
        if label not in labels:
            parts.append(Part(kind, label=label))
    return Interleaved(tuple(parts))


def record_answer_of(output: Interleaved, question: str = "") -> RecordAnswer:
    """Converts an answer to the form of a record, without hidden reasoning.

    Keys without a tag continue the numbering of the question, as in the data set.
    """
    parts = [part for part in output.parts if part.kind != "reasoning"]
    keys = _keys(parts, question)
    content: list[str] = []
    modal: dict[str, Media | str] = {}
    for position, part in enumerate(parts):
        item = _item(part)
        if item is None:
            content.append(part.raw)
            continue
        key = keys[position]
        # Code is a text in the layout, even if it was a file.
        if _kind(part) == "code" and not isinstance(item, str):
            item = item.read().decode(errors="replace")
        modal[key] = whole_text(item) if isinstance(item, str) else item
        if part.raw:
            # The tag is not changed if the scripts can find it.
            found_tag = _KNOWN.search(part.raw)
            is_found = found_tag is not None and found_tag[1] == key
            content.append(part.raw if is_found else f"<{key}>")
    return RecordAnswer(whole_text("".join(content)), modal)


def _item(part: Part) -> Media | str | None:
    """Returns the item of a part: a medium, or the text of code with a tag."""
    if part.media is not None:
        return part.media
    return part.text if part.kind == "code" and part.raw != part.text else None


def _kind(part: Part) -> str:
    if part.kind in WORDS or part.media is None:
        return part.kind
    return part.media.kind


def _keys(parts: list[Part], question: str) -> dict[int, str]:
    """Returns the key of each part with an item, by position.

    A part keeps the number of its tag, unless another part already uses this number,
    even one without a medium. Media without a tag get free numbers.
    """
    tagged: dict[int, Part] = {}
    untagged: dict[int, Part] = {}
    dangling: set[str] = set()
    tag_names: set[str] = set()
    for position, part in enumerate(parts):
        if _item(part) is None:
            dangling.update(_names_in(part.raw))
        elif part.raw:
            tagged[position] = part
            tag_names.update(_names_in(part.raw))
        else:
            untagged[position] = part
    keys = _KeyAssigner(dangling)
    key_of_part = {position: keys.from_label(part) for position, part in tagged.items()}
    keys.taken |= tag_names
    key_of_part |= {
        position: keys.from_label(part) for position, part in untagged.items()
    }
    keys.taken.update(_names_in(question))
    for position in sorted(key_of_part):
        key_of_part[position] = key_of_part[position] or keys.free(parts[position])
    return key_of_part


def _names_in(text: str) -> Iterator[str]:
    return (f"{WORDS[tag.kind]}{tag.index}" for tag in find(text, _SPELLINGS))


class _KeyAssigner:
    """Assigns a key to each item of an answer.

    Items with equal content and labels share a key.
    """

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self._items: dict[str, Media | str | None] = {}
        self._last: dict[str, int] = {}

    def from_label(self, part: Part) -> str:
        """Returns the key that follows from a part's label.

        Returns an empty string if the label yields no key, or if the key is taken.
        """
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
        """Returns the next free key."""
        kind = WORDS[_kind(part)]
        number = self._last.get(kind, 0) + 1
        while f"{kind}{number}" in self.taken or f"{kind}{number}" in self._items:
            number += 1
        self._last[kind] = number
        return f"{kind}{number}"
