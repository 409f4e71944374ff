"""Finds media in the texts of a reply: links, and data URIs with or without markup.

Markup is Markdown or HTML. Code in fenced blocks or between backticks remains text.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Literal, NamedTuple

WINDOW = 2000
"""Number of characters before an address in which its markup is searched."""

_HEAD = (
    r"data:(?:(?:[\w.+-]+/[\w.+-]*)?(?:;[\w.+=\"-]+)*;base64"
    r"|(?:image|audio|video|model)/[\w.+-]+(?:;[\w.+=\"-]+)*),"
)
_URI = re.compile(rf"(?<![A-Za-z0-9])(?:{_HEAD})+", re.IGNORECASE)
_NEXT_URI = re.compile(rf"(?:{_HEAD})+", re.IGNORECASE)
"""A data URI that directly follows another data URI."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_%-]*={0,2}")
_BLANK = re.compile(r"[ \t]{0,64}(?:\r?\n)?(?=[A-Za-z0-9+/_-]{16})")
"""Whitespace that some servers write between the comma and the base64."""
_BROKEN_BASE64 = re.compile(r"[A-Za-z0-9+/_%=\s-]*")
_WORD = re.compile(r"[^\s\"'<>)]*")
_LONGEST_PLAIN = 100_000
"""Maximum length of a quoted data URI that is not base64, such as an SVG."""
_BASE64_LINE = re.compile(r"\r?\n([A-Za-z0-9+/_-]+={0,2})(?=\r?\n|$)")
_LEAST_LINE = 60
"""Minimum length of all lines but the last, for base64 with line breaks."""
_MARKDOWN = re.compile(r"!?\[[^\[\]]*\]\(\s{0,16}(<?)\Z")
_MARKDOWN_END = re.compile(
    r"\s{0,16}>?\s{0,16}(?:\"[^\"]{0,500}\"|'[^']{0,500}'|\([^()]{0,500}\))?\s{0,16}\)"
)
_TAG = re.compile(
    r"<(img|image|audio|video|source|embed)\b[^<>]*?\bsrc\s*=\s*([\"']?)\Z",
    re.IGNORECASE,
)
_TAG_END = re.compile(r"[^<>]{0,2000}/?>")
_LINK = re.compile(r"https?://[^\s<>\"'`\[\]()]+", re.IGNORECASE)
_RELATIVE_LINK = re.compile(
    r"!\[[^\[\]]*\]\(\s*<?(?P<md>\.{0,2}/[^\s<>()]+)"
    r"|<img\b[^<>]*?\bsrc\s*=\s*[\"'](?P<img>\.{0,2}/[^\s\"'<>]+)",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_TICKS = re.compile(r"`+")


class MediaReference(NamedTuple):
    """A data URI or a link in a text.

    The span from ``start`` to ``end`` includes its markup. ``shown`` is True if the
    markup shows a medium, and False if it only links to the medium.
    """

    kind: Literal["data", "link"]
    address: str
    start: int
    end: int
    shown: bool


def may_refer(text: str) -> bool:
    """Returns True if a text may contain a data URI.

    The check must be fast, because it runs for every answer.
    """
    return "ata:" in text or "ATA:" in text


def references(text: str, *, links: bool = False) -> Iterator[MediaReference]:
    """Yields the data URIs of a text and, with ``links``, its links, in order.

    References inside code are left out.
    """
    code = _CodeSpans(text)
    matches = list(_data_uris(text, code))
    if links:
        starts = [reference.start for reference in matches]
        for link in _links(text, code):
            before = bisect.bisect(starts, link.start)
            if before and matches[before - 1].end > link.start:
                continue  # part of a data URI
            matches.append(link)
        matches.sort(key=attrgetter("start"))
    end = 0
    for reference in matches:
        if reference.start >= end:
            yield reference
            end = reference.end


def _data_uris(text: str, code: _CodeSpans) -> Iterator[MediaReference]:
    position = 0
    while match := _NEXT_URI.match(text, position) or _URI.search(text, position):
        start, end = match.start(), match.end()
        position = end
        if code.holds(start):
            continue
        reference = _in_markup(text, start, end, "data")
        if reference is None:
            if match[0].lower().endswith(";base64,"):
                stop = _end_of_base64(text, end)
            else:
                stop = _end_of(_WORD, text, end)
            reference = MediaReference("data", text[start:stop], start, stop, True)
        position = reference.end
        yield reference


def _links(text: str, code: _CodeSpans) -> Iterator[MediaReference]:
    for match in _LINK.finditer(text):
        if code.holds(match.start()):
            continue
        address = match[0].rstrip(".,;:!?*_")
        start, end = match.start(), match.start() + len(address)
        marked = _in_markup(text, start, end, "link")
        yield marked or MediaReference("link", address, start, end, False)
    for match in _RELATIVE_LINK.finditer(text):
        name = "md" if match["md"] else "img"
        if code.holds(match.start()):
            continue
        marked = _in_markup(text, match.start(name), match.end(name), "link")
        if marked is not None:
            yield marked


def _in_markup(
    text: str, start: int, end: int, kind: Literal["data", "link"]
) -> MediaReference | None:
    """Returns the reference with its markup for an address in Markdown or HTML.

    The address begins at ``start``. ``end`` is the end of its head, and the markup must
    close after it. Returns None without markup.
    """
    before = text[max(0, start - WINDOW) : start]
    window_start = start - len(before)
    is_base64 = text[max(0, end - 8) : end].lower() == ";base64,"
    bracket = before.rfind("[")
    markdown = None
    if bracket >= 0:
        is_picture = before[max(0, bracket - 1)] == "!"
        markdown = _MARKDOWN.match(before, bracket - is_picture)
    if markdown is not None:
        stop = end
        if kind == "data":
            stop = _end_of(_BROKEN_BASE64 if is_base64 else _WORD, text, end)
        closing = _MARKDOWN_END.match(text, stop)
        if closing is not None:
            shown = kind == "data" or markdown[0].startswith("!")
            markup_start = window_start + markdown.start()
            return MediaReference(
                kind, text[start:stop], markup_start, closing.end(), shown
            )
    tag = _TAG.match(before, max(0, before.rfind("<")))
    if tag is not None:
        # without quotes, whitespace ends the address
        body = _BROKEN_BASE64 if tag[2] else _BASE64
        stop = _end_of(body if is_base64 else _WORD, text, end)
        if tag[2] and not is_base64:
            stop = text.find(tag[2], end, end + _LONGEST_PLAIN)
        closing = _TAG_END.match(text, stop) if stop >= 0 else None
        if closing is not None:
            last = closing.end()
            close = f"</{tag[1]}>"
            if text[last : last + len(close)].lower() == close.lower():
                last += len(close)
            markup_start = window_start + tag.start()
            return MediaReference(
                kind, text[start:stop], markup_start, last, shown=True
            )
    return None


def _end_of(
    pattern: re.Pattern[str],
    text: str,
    start: int,
) -> int:
    """Returns the end of a match. The match may be empty."""
    match = pattern.match(text, start)
    return start if match is None else match.end()


def _end_of_base64(text: str, start: int) -> int:
    """Returns the end of bare base64, which may consist of several lines.

    All lines but the last have the same length.
    """
    start = _end_of(_BLANK, text, start)
    end = _end_of(_BASE64, text, start)
    # the letters "data" of a URI directly after it could also belong to the base64
    next_uri = end - len("data")
    if next_uri >= start and _NEXT_URI.match(text, next_uri):
        return next_uri
    length = end - start
    while length >= _LEAST_LINE:
        line = _BASE64_LINE.match(text, end)
        if line is None or len(line[1]) > max(length, 76):
            break
        end, length = line.end(), len(line[1])
    return end


class _CodeSpans:
    """The spans of code in a text: fenced blocks, and text between backticks."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        if "`" in text or "~~~" in text:
            spans = list(_fences(text))
            spans += _inline_code(text, spans)
            for start, end in sorted(spans):
                self._starts.append(start)
                self._ends.append(end)

    def holds(self, position: int) -> bool:
        number = bisect.bisect_right(self._starts, position) - 1
        return number >= 0 and position < self._ends[number]


def _fences(text: str) -> Iterator[tuple[int, int]]:
    """Yields the spans of fenced blocks.

    A block without an end extends to the end of the text.
    """
    opening: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opening is None:
            # a line with backticks after its opening backticks is inline code
            if match[1][0] == "~" or "`" not in match[2]:
                opening = match
            continue
        closes = match[1].startswith(opening[1]) and not match[2].strip()
        if closes:
            yield opening.start(), match.end()
            opening = None
    if opening is not None:
        yield opening.start(), len(text)


def _inline_code(
    text: str,
    fences: list[tuple[int, int]],
) -> list[tuple[int, int]]:
    """Returns the spans between equal runs of backticks in one paragraph.

    Fenced blocks are left out.
    """
    behind = len(text) + 1
    fenced = iter([*fences, (behind, behind)])
    start, end = next(fenced)
    runs: list[tuple[int, int]] = []
    for match in _TICKS.finditer(text):
        while match.start() >= end:
            start, end = next(fenced)
        if match.start() < start:
            runs.append(match.span())
    later: dict[int, list[int]] = {}
    for number in range(len(runs) - 1, -1, -1):
        start, end = runs[number]
        later.setdefault(end - start, []).append(number)
    spans: list[tuple[int, int]] = []
    number = 0
    while number < len(runs):
        opening_start, after = runs[number]
        closers = later[after - opening_start]
        while closers and closers[-1] <= number:
            closers.pop()
        closing = runs[closers[-1]] if closers else None
        if closing is None or "\n\n" in text[after : closing[0]]:
            number += 1
            continue
        spans.append((opening_start, closing[1]))
        number = closers[-1] + 1
    return spans
