"""Parses and renders the media placeholders of answers and data.

| spelling    | example                                 | numbered from |
|-------------|-----------------------------------------|---------------|
| `tag`       | `<<image1>>`, `<audio 2>`, `<threeD1:`  | 1             |
| `span`      | `<image_start><image_0><image_end>`     | 0             |
| `block`     | `<gen_img1>`, `<query_text1>`           | 1             |
| `hash`      | `#image1#`                              | 1             |
| `generated` | `<GEN_0>`                               | 0             |
| `pair`      | `<boi><eoi>`                            | by position   |

Parsing is as tolerant as that of the published scorers. Rendering writes one canonical
form. A parsed placeholder keeps its original characters, so that an answer can be
restored byte for byte.

Answers are hostile input. Therefore patterns accept only ASCII digits and letters, and
take linear time. In a sequence of ``<``, a match can begin only at the first one, and
quantifiers are possessive, so they do not backtrack.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from mmeval.errors import UnknownNameError

TagKind = Literal["text", "code", "image", "audio", "video", "document", "3d"]
"""The kind of part that a placeholder can stand for."""

_KINDS: dict[str, TagKind] = {
    "text": "text",
    "code": "code",
    "image": "image",
    "img": "image",
    "gen": "image",
    "audio": "audio",
    "video": "video",
    "document": "document",
    "3d": "3d",
    "threed": "3d",
}


class Tag(NamedTuple):
    """A placeholder in a text, where ``text[start:end] == raw``.

    ``index`` is the number as written, or None in the spelling `pair`.
    """

    kind: TagKind
    index: int | None  # type: ignore[assignment]  # the term in the data; it hides tuple.index
    raw: str
    start: int
    end: int
    spelling: str

    @property
    def label(self) -> str:
        """The kind and number, such as ``image1``, as in a row's ``media``."""
        return self.kind if self.index is None else f"{self.kind}{self.index}"


class Spelling(NamedTuple):
    """A spelling of placeholders. ``pattern`` captures the kind and the index."""

    pattern: str
    render: Callable[[TagKind, int], str]
    first_index: int
    kinds: frozenset[str]


SpellingName = Literal["span", "block", "tag", "hash", "generated", "pair"]
"""The name of a spelling of placeholders."""

SPELLINGS: dict[str, Spelling] = {
    "span": Spelling(
        r"<(?P<span>image|audio)_start><(?P=span)_(?P<span_i>[0-9]++)><(?P=span)_end>",
        lambda kind, index: f"<{kind}_start><{kind}_{index}><{kind}_end>",
        0,
        frozenset(("image", "audio")),
    ),
    "block": Spelling(
        r"<(?:gen|query)_(?P<block>img|text)(?P<block_i>[0-9]++)>",
        lambda kind, index: f"<gen_{'img' if kind == 'image' else kind}{index}>",
        1,
        frozenset(("image", "text")),
    ),
    "generated": Spelling(
        r"<(?P<generated>GEN)_(?P<generated_i>[0-9]++)>",
        lambda _kind, index: f"<GEN_{index}>",
        0,
        frozenset(("image",)),
    ),
    "pair": Spelling(
        r"(?P<pair><boi><eoi>)",
        lambda _kind, _index: "<boi><eoi>",
        0,
        frozenset(("image",)),
    ),
    "hash": Spelling(
        r"#(?P<hash>image)(?P<hash_i>[0-9]++)#",
        lambda kind, index: f"#{kind}{index}#",
        1,
        frozenset(("image",)),
    ),
    "tag": Spelling(
        r"(?<!<)<++[ \t]*+(?P<tag>(?ai:image|audio|video|document|code|threeD|3d))[ "
        r"\t_]*+(?P<tag_i>[0-9]++)"
        r"[ \t]*+(?:>++|:)",
        lambda kind, index: f"<<{kind}{index}>>",
        1,
        frozenset(("image", "audio", "video", "document", "code", "3d")),
    ),
}

DEFAULT_SPELLINGS = ("span", "block", "pair", "tag")
"""The spellings of answers, unless a task sets others.

`generated` and `hash` are not among them, because they are used in plans, not in
answers.
"""

MAX_INDEX_DIGITS = 9
"""Maximum number of digits of a placeholder's number. A longer number is treated as
text, so that a hostile answer cannot create huge integers."""
_LABEL = re.compile(r"([A-Za-z]+|3[dD])[ _]?([0-9]+)")


@lru_cache
def _compiled(spellings: tuple[str, ...]) -> re.Pattern[str]:
    for name in spellings:
        if name not in SPELLINGS:
            raise UnknownNameError("placeholder spelling", name, SPELLINGS)
    return re.compile(
        "|".join(SPELLINGS[name].pattern for name in dict.fromkeys(spellings))
    )


def find(text: str, spellings: Sequence[str] = DEFAULT_SPELLINGS) -> Iterator[Tag]:
    """Yields the placeholders of a text, in order and without overlaps.

    If two spellings match, the first one in ``spellings`` wins.
    """
    if not spellings or ("<" not in text and "#" not in text):
        return
    for match in _compiled(tuple(spellings)).finditer(text):
        # The last group of a spelling has its name or, for a number, its name and
        # ``_i``.
        spelling = (match.lastgroup or "").removesuffix("_i")
        kind: TagKind = "image"
        index = None
        if spelling != "pair":
            number = match[f"{spelling}_i"]
            if len(number) > MAX_INDEX_DIGITS:
                continue
            kind = _KINDS[match[spelling].lower()]
            index = int(number)
        start, end = match.span()
        yield Tag(kind, index, match[0], start, end, spelling)


def render(
    kind: TagKind,
    ordinal: int,
    spelling: str = "tag",
) -> str:
    """Returns the placeholder of the ``ordinal``-th item of a kind.

    ``ordinal`` is numbered from 1 in every spelling.

    Raises UnknownNameError for an unknown spelling, and for a spelling that has no
    placeholder for the kind.
    """
    known_spelling = SPELLINGS.get(spelling)
    if known_spelling is None:
        raise UnknownNameError("placeholder spelling", spelling, SPELLINGS)
    if kind not in known_spelling.kinds:
        suitable = [name for name, other in SPELLINGS.items() if kind in other.kinds]
        raise UnknownNameError(
            f"placeholder spelling for {kind!r}",
            spelling,
            suitable,
            f"these support it: {', '.join(suitable)}",
        )
    return known_spelling.render(kind, ordinal - 1 + known_spelling.first_index)


def canonical_label(name: str) -> str:
    """Returns the label for a medium's name in a data file.

    For example, the label is ``3d1`` for ``threeD1`` and ``3d 1``. Any name that is not
    a kind and a number is returned unchanged.
    """
    match = _LABEL.fullmatch(name)
    if match is None or len(match[2]) > MAX_INDEX_DIGITS:
        return name
    kind = _KINDS.get(match[1].lower())
    return name if kind is None else f"{kind}{int(match[2])}"


def label_kind(label: str) -> TagKind | None:
    """Returns the kind in a label, such as ``audio`` in ``audio2``.

    The result is None if the label does not begin with a kind.
    """
    return _KINDS.get(label.rstrip("0123456789").lower())
