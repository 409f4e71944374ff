"""Reads the markup around a choice: thinking, JSON, tags, TeX, Markdown, letter forms.

Answers may be hostile, so all functions run in time linear in the answer's length.
Repetition in patterns is bounded, or is limited to the match of an earlier pattern.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from mmeval.metric.judge import ReplyError, read_object, strict_json
from mmeval.metrics.text.choices.words import any_of

_THINKING = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)

# Invisible characters (writing directions, joiners, emoji variants), and the private
# characters that represent options in the reader.
_UNSEEN = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe0e\ufe0f\ufeff"
    "\ue000-\uf8ff]"
)
# Letters in dark circles, in dark squares, and as halves of flags. NFKC does not
# convert these.
_PICTURED_LETTERS = {
    first + number: chr(ord("A") + number)
    for first in (0x1F150, 0x1F170, 0x1F1E6)
    for number in range(26)
}
# Cyrillic capitals that look like Latin capitals. Some are words (В: in, С: with) and
# precede another word. So they only count as letters before a mark or at the end of a
# line.
_LOOKALIKE = re.compile(
    r"(?<!\w)[АВЕС](?= ?(?:[)\].,:;!?\"'»”*_`–—-]|$))", re.MULTILINE
)
_LATIN = str.maketrans("АВЕС", "ABEC")

_TEX_BOX = re.compile(r"(?<!\\)\\{1,4}(?:boxed|fbox|framebox) ?(?:\{|(?=[A-Za-z]\b))")
_TEX_FORMAT = re.compile(
    r"(?<!\\)\\{1,4}(?:text(?:bf|it|rm|sf|tt|sc|normal)?|math(?:rm|bf|it|sf|tt|cal|bb)"
    r"|operatorname|boldsymbol|bm|bf|rm|it|sf|tt|emph|underline|mbox|hbox|boxed|fbox"
    r"|framebox|displaystyle|large|Large|huge|left|right|quad|qquad)(?![A-Za-z])\*?"
)
_TEX_MATH = re.compile(r"\$|(?<!\\)\\{1,4}[()\[\],;:! ]")
_BRACE = re.compile(r"[{}]")
_IN_BRACES = re.compile(r"\{([^{}]*)\}")
_BRACES = str.maketrans("{}", "  ")

_ANSWER_NAME = (
    r"(?i:(?:final|correct|my|the|best|your)?[ _-]?"
    r"(?:answer|ans|choice|option|box|solution|output|result|response|final))"
)
_ANSWER_TAG = re.compile(
    rf"<\|?(?:begin_of_|start_of_)?{_ANSWER_NAME}(?: [^<>]{{0,200}})?\|?>"
    rf"|(?P<closes><(?:/|\|end_of_|\|/){_ANSWER_NAME}\|?>|\[/{_ANSWER_NAME}\])"
    rf"|\[{_ANSWER_NAME}\](?=[^\n\[]{{0,200}}\[/)"
)
_TAG = re.compile(r"</?[A-Za-z][\w-]{1,30}(?: [^<>]{0,200})?/?>|</[A-Za-z]>")
_SHORT_TAG = re.compile(r"<([A-Za-z])>(?=[^<]{0,200}</\1>)")

_FENCE = re.compile(r"^ {0,3}(?:```|~~~)[ \w-]{0,20}$", re.MULTILINE)
_LINE_MARK = re.compile(r"^ ?(?:#{1,6}|>|[-+*•◦▪‣●·]) ?(?=\S)", re.MULTILINE)
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
_EMPHASIS = re.compile(r"[*_`]|~~")
_BLANKS = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r" ?\n[ \n]*")

_NOT_A_WORD = re.compile(r"[\W_]+")
_ANSWER_KEY = re.compile(
    rf"(?i:(?:(?:final|correct|my|the|best|your|selected|chosen|predicted|right|model) "
    rf"?){{0,2}}(?:{any_of('answer')}|{any_of('option')}|prediction|predicted|selected"
    rf"|chosen|selection|result|response|output|label)"
    rf"(?: ?(?:letter|choice|option|key|label|id|index|value))?)"
)
"""A JSON key of the answer, with its words separated by spaces. It does not match
``options`` or ``answer explanation``."""
_MOST_BOXES = 10
"""Maximum number of boxes that are read, starting with the last."""


def without_thinking(answer: str) -> str:
    """Removes thinking blocks.

    A block without an end hides the rest. A block without a beginning hides all text
    before its end.
    """
    outside: list[str] = []
    start, thinking = 0, False
    for mark in _THINKING.finditer(answer):
        if mark[1]:
            if not thinking:
                outside.clear()
            start, thinking = mark.end(), False
        elif not thinking:
            outside.append(answer[start : mark.start()])
            thinking = True
    if not thinking:
        outside.append(answer[start:])
    return "".join(outside)


def plain_characters(text: str) -> str:
    """Converts a text to NFKC, with single spaces and without blank lines.

    Letters in circles or squares become letters, and invisible characters are removed.
    """
    pictured = text.translate(_PICTURED_LETTERS)
    folded = unicodedata.normalize("NFKC", _UNSEEN.sub("", pictured))
    single = _BLANK_LINES.sub("\n", _BLANKS.sub(" ", folded))
    return _LOOKALIKE.sub(lambda letter: letter[0].translate(_LATIN), single).strip()


def prose(text: str) -> str:
    """Removes markup and struck out text, and returns plain characters."""
    text = _FENCE.sub("", text)
    text = _SHORT_TAG.sub(" ", _TAG.sub(" ", text))
    text = _TEX_MATH.sub(" ", _TEX_FORMAT.sub("", text))
    text = _IN_BRACES.sub(_as_bracket, text).translate(_BRACES)
    text = _EMPHASIS.sub("", _STRUCK.sub(" ", _LINE_MARK.sub("", text)))
    return _BLANK_LINES.sub("\n", _BLANKS.sub(" ", text)).strip()


def _as_bracket(braces: re.Match[str]) -> str:
    """Converts ``{C}`` to a letter in brackets.

    TeX's braces around more than one character are invisible, so they become spaces.
    """
    inner = braces[1].strip()
    if len(inner) == 1:
        return f"({inner})"
    return f" {inner} "


def is_json(text: str) -> bool:
    """Returns True if a text begins and ends like JSON, perhaps in a fence."""
    bare = _FENCE.sub("", text).strip()
    return bare[:1] in ("{", "[", '"') and bare[-1:] in ("}", "]", '"')


def json_answers(text: str) -> list[str]:
    """Returns the strings that an answer's JSON states as its answer.

    The result is empty without JSON, or without a key for an answer. If a text consists
    of JSON with a single key, any key is accepted.
    """
    bare = _FENCE.sub("", text).strip()
    value = strict_json(bare)
    if isinstance(value, str | list):
        return [_written(value)]
    try:
        object_ = read_object(bare)
    except ReplyError:
        return []
    return _answers_of(object_, any_key=is_json(bare))


def _answers_of(object_: Mapping[str, Any], *, any_key: bool) -> list[str]:
    if any_key and all(isinstance(value, bool) for value in object_.values()):
        # {"A": false, "B": true} names the options that are true.
        return [key for key, value in object_.items() if value]
    if any_key and len(object_) == 1:
        ((key, value),) = object_.items()
        # {"C": "oak"} names an option by its key.
        written = _written(value)
        if len(key) == 1 and key.isalpha():
            return [f"{key}. {written}"]
        return [written]
    answers: list[str] = []
    for key, value in object_.items():
        words = _NOT_A_WORD.sub(" ", key).strip()
        if _ANSWER_KEY.fullmatch(words) and value is not None:
            answers.append(_written(value))
    return answers


def _written(value: Any) -> str:
    """Converts a JSON value to text as an answer would write it.

    The items of a list are joined, and an object becomes the answers that it states.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " and ".join(map(str, value))
    if isinstance(value, dict):
        return "\n".join(_answers_of(value, any_key=True))
    if value is None or isinstance(value, bool):
        return ""
    return str(value)


def tagged_answer(text: str) -> str:
    """Returns the content of the last tag such as ``<answer>`` that is not blank."""
    end = len(text)
    for mark in reversed(list(_ANSWER_TAG.finditer(text))):
        content = text[mark.end() : end].strip()
        if content and not mark["closes"]:
            return content
        end = mark.start()
    return ""


def boxed_answers(text: str) -> Iterator[str]:
    r"""Yields the contents of TeX's ``\boxed{...}``, the last box first."""
    boxes = list(_TEX_BOX.finditer(text))
    for box in reversed(boxes[-_MOST_BOXES:]):
        start = box.end()
        end = _box_end(text, start) if box[0].endswith("{") else start + 1
        yield text[start:end]


def _box_end(text: str, start: int) -> int:
    """Returns the position of the closing brace, or else the end of the line."""
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    line_end = text.find("\n", start)
    if line_end < 0:
        return len(text)
    return line_end
