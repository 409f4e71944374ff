"""Choice: does the answer name the right option of a multiple-choice question?"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from mmeval.metric import metric
from mmeval.records import Sample, Score, Trial

Options = Mapping[str, str]
"""The texts of the options by upper-case letter. A text is empty where only the letter
is known."""


class Found(NamedTuple):
    """The option that an answer names (None: not exactly one), and the rule used."""

    letter: str | None
    rule: str


@metric(
    range=(0, 1),
    version="2",
    source="our own reading of free answers, rule by rule in its documentation",
)
def choice(
    trial: Trial, *, options_key: str = "options", answer_key: str = "answer"
) -> Score:
    """1 when the answer names the right option and no other, else 0.

    Range 0 to 1, higher is better. An answer that names no option, or several, is
    wrong, not unscored. The first rule that finds something decides:

    1. ``whole``: the answer is a letter (``B``, ``(b)``, ``**B.**``) or the text of an
       option and nothing else;
    2. ``stated``: the last choice that is stated (``Answer: B``, ``the answer is a
       dog``, ``\\boxed{B}``);
    3. ``line``: the letter that opens a line with a mark behind it (``B. because``,
       ``(B) because``);
    4. ``brackets``: a letter in brackets anywhere;
    5. ``text``: the text of an option, as whole words; longer texts hide shorter ones
       inside them.

    Options that are listed together (``B or C``, ``Answer: B, C``) are several. What an
    answer rejects (``I would not choose B``, ``the answer is not B``) is not looked at.

    The options are the sample's metadata under ``options_key``: a list of texts
    (lettered from A) or a mapping from letters to texts; without them any letter can be
    named. The right one is the metadata under ``answer_key`` (a letter, a number
    counted from 0, or an option's text), else the first reference's text. Unscored when
    there is no right answer or it is none of the options. Evidence: the letter found,
    the right one, and the rule.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    options = _options(trial.sample.metadata.get(options_key))
    if options is None:
        return Score.unscored(
            f"metadata {options_key!r} is no list of at most 26 options and no "
            "mapping from letters"
        )
    right = _right_letter(trial.sample, answer_key, options)
    if right is None:
        return Score.unscored(
            f"the right answer is none of the options: set metadata {answer_key!r} or "
            "a reference"
        )
    found = find_choice(trial.output.text, options)
    return Score(
        float(found.letter == right),
        evidence={"found": found.letter, "right": right, "rule": found.rule},
    )


def find_choice(answer: str, options: Options) -> Found:
    """The option that an answer names.

    >>> find_choice("I think the answer is (B).", {"A": "a cat", "B": "a dog"})
    Found(letter='B', rule='stated')
    """
    text = _REJECTED.sub(" ", re.sub(r"[*_`$]+", "", answer)).strip()
    for rule, read in _RULES.items():
        named = list(
            dict.fromkeys(letter for letter in read(text, options) if letter in options)
        )
        if len(named) == 1:
            return Found(named[0], rule)
        if named:
            return Found(None, f"{rule}: names {' and '.join(named)}")
    return Found(None, "names no option")


_NOT = r"(?:\bnot|\bnever|\bcannot|n['’]t)\b"
_BETWEEN = (
    r"(?:[^\S\n]+(?:to|ever|even|really|\w+ly|want|going|have|be|the|an?|my|your|"
    r"right|correct|best|final)\b){0,4}"
)
_REJECTED = re.compile(
    rf"(?:{_NOT}{_BETWEEN}[^\S\n]+(?:answer|choice|option|choose|pick|select)\b"
    r"|\b(?:answer|choice|option)\b[^.:=\n"
    rf"]{{0,60}}?\bis(?:\s+not\b|n['’]t\b))[^.,;:\n]*?(?=\bbut\b|[.,;:\n]|$)",
    re.IGNORECASE,
)
"""A rejected choice, to the end of its clause."""
_WHOLE_LETTER = re.compile(r"[(\[]?([A-Za-z])[)\].:]*")
_STATEMENT = re.compile(
    r"\b(?:(?:answer|choice|option)\b(?:[^.:=\n"
    r"]{0,60}?(?:\bis\b|[:=]))?|(?:choose|pick|select)\b)"
    r"\s*(?:(?:option|choice)\s+)?",
    re.IGNORECASE,
)
# A small letter counts only before a mark or the end, so that "the answer is a cat"
# names no option A. The same holds for the capitals A and I, which are words.
_STATED_LETTER = re.compile(
    r"[(\[]([A-Za-z])[)\]]|([A-Za-z])(?=\s*(?:$|[\n"
    r".,;:()\[\]–—-]))|([B-HJ-Z])(?![\w'’])"
)
_AND_MORE = re.compile(
    r"(?:\s*+(?:[)\].]\s*+)?(?:[,/&+;]|\b(?:and|or)\b))+\s*+(?:(?:option|choice)\s+)?"
    r"(?:[(\[]([A-Za-z])[)\]]|([A-Z])(?=\s*(?:$|[\n.,;:()\[\]/&+–—-]|(?:and|or)\b)))"
)
"""A further letter in a list of letters."""
_CALLED_RIGHT = re.compile(
    r"\b([A-Z])[)\]]?\s+is\s+(?:the\s+)?(?:correct|right|best)\b"
)
_BOXED = re.compile(r"\\boxed\{\s*+(?:\\text\{\s*+)?\(?([A-Za-z])\)?\s*\}")
_OPENS_LINE = re.compile(
    r"^[ \t]*(?:[(\[]([A-Z])[)\]]|([A-Z])(?=\s*(?:[,/&+]|\b(?:and|"
    r"or)\b)\s*[(\[]?[A-Z]\b)|([A-Z])[.):](?=\s|$))",
    re.MULTILINE,
)
_IN_BRACKETS = re.compile(r"\(([A-Z])\)")


def _whole(text: str, options: Options) -> list[str]:
    letter = _WHOLE_LETTER.fullmatch(text)
    if letter:
        return [letter[1].upper()]
    return [
        name
        for name, option in options.items()
        if option and _plain(option) == _plain(text)
    ]


def _stated(text: str, options: Options) -> list[str]:
    """The last stated choice: none, one, or several (listed, or of the same text)."""
    found = [
        (match.start(), [match[1].upper()])
        for match in (*_CALLED_RIGHT.finditer(text), *_BOXED.finditer(text))
    ]
    for match in _STATEMENT.finditer(text):
        found.append(
            (match.start(), _statement(text[match.end() :][:_LONGEST_OPTION], options))
        )
    said = [(start, letters) for start, letters in found if letters]
    return max(said)[1] if said else []


def _statement(rest: str, options: Options) -> list[str]:
    """The longest option text at the start, after "the answer is"; else a letter."""
    plain = _plain(rest)
    opening = [
        name
        for name, option in options.items()
        if option and re.match(rf"{_words(option)}(?!\w)", plain)
    ]
    if opening:
        longest = max(len(_plain(options[name])) for name in opening)
        return [name for name in opening if len(_plain(options[name])) == longest]
    letter = _STATED_LETTER.match(rest)
    return [_letter(letter), *_more_letters(rest, letter.end())] if letter else []


def _letter(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group).upper()


def _more_letters(text: str, at: int) -> Iterator[str]:
    while further := _AND_MORE.match(text, at):
        yield _letter(further)
        at = further.end()


def _line(text: str, _: Options) -> list[str]:
    opened = _OPENS_LINE.finditer(text)
    return [
        letter
        for match in opened
        for letter in (_letter(match), *_more_letters(text, match.end()))
    ]


def _texts(text: str, options: Options) -> list[str]:
    plain, named = _plain(text), []
    for name, option in sorted(options.items(), key=lambda item: -len(item[1])):
        plain, times = (
            re.subn(rf"(?<!\w){_words(option)}(?!\w)", "\0", plain)
            if _plain(option)
            else (plain, 0)
        )
        named += [name] * bool(times)
    return named


_RULES: Mapping[str, Callable[[str, Options], list[str]]] = {
    "whole": _whole,
    "stated": _stated,
    "line": _line,
    "brackets": lambda text, _: _IN_BRACKETS.findall(text),
    "text": _texts,
}
_LONGEST_OPTION = 2000
"""Characters after "the answer is" that are compared with the options."""


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(string.punctuation + " ")


def _words(option: str) -> str:
    return re.escape(_plain(option))


def _options(label: Any) -> Options | None:
    if label is None:
        return dict.fromkeys(string.ascii_uppercase, "")
    if isinstance(label, Mapping):
        return {str(letter).upper(): str(text) for letter, text in label.items()}
    if isinstance(label, (list, tuple)) and len(label) <= len(string.ascii_uppercase):
        return {
            letter: str(text)
            for letter, text in zip(string.ascii_uppercase, label, strict=False)
        }
    return None


def _right_letter(sample: Sample, answer_key: str, options: Options) -> str | None:
    label = sample.metadata.get(answer_key)
    if label is None and sample.references:
        label = sample.references[0].text
    if isinstance(label, int) and not isinstance(label, bool):
        return list(options)[label] if 0 <= label < len(options) else None
    named = [
        letter
        for letter in _whole(str(label or "").strip(), options)
        if letter in options
    ]
    return named[0] if len(named) == 1 else None
