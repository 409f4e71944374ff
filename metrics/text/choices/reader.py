"""Finds the option of a multiple-choice question that an answer chooses.

All benchmarks use this reader. Its rules are applied in a fixed order, and the first
rule that finds an option decides. Before prose is read, each option's text is replaced
by one character. Letters inside an option's text are then not choices, and "not a cat
but a dog" is read like "not A but B".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from mmeval.metrics.text.choices.markup import (
    boxed_answers,
    is_json,
    json_answers,
    plain_characters,
    prose,
    tagged_answer,
    without_thinking,
)
from mmeval.metrics.text.choices.words import any_of
from mmeval.records import NO_OPTION, Score

Options = Mapping[str, str]
"""The texts of the options by upper-case letter. A text is empty if only its letter is
known."""

NAMES_NONE = "names no option"
"""The rule that is recorded if no rule finds an option."""


class ChosenOption(NamedTuple):
    """The option that an answer chooses, and the rule that found it.

    The option is None if the answer does not choose exactly one.
    """

    letter: str | None
    rule: str


def find_choice(answer: str, options: Options) -> ChosenOption:
    """Finds the option that an answer chooses.

    The first of these rules that finds an option of the question decides: ``json``,
    ``tag``, ``box``, ``whole``, ``last line``, ``stated``, ``first line``, ``option``,
    ``line``, ``brackets``, ``letter``, ``text``. The metric ``choice`` describes each.

    >>> find_choice("I think the answer is (B).", {"A": "a cat", "B": "a dog"})
    ChosenOption(letter='B', rule='stated')
    """
    reader = _OptionReader(options)
    text = plain_characters(without_thinking(answer))
    in_json = json_answers(text)
    chosen = [reader.in_prose(piece).letter for piece in in_json]
    letters = [letter for letter in chosen if letter]
    if letters or (in_json and is_json(text)):
        return _chosen("json", letters)
    tagged = tagged_answer(text)
    if tagged:
        return reader.in_markup(tagged)._replace(rule="tag")
    return reader.in_markup(text)


def named_option(label: str, options: Options) -> str | None:
    """Returns the letter of the option that a label names, or None.

    The label is a letter or the text of an option.
    """
    reader = _OptionReader(options)
    letters = reader.whole(reader.with_characters(plain_characters(label)))
    return _chosen("whole", letters).letter


def choice_score(
    chosen: ChosenOption, right: str, evidence: Mapping[str, Any] | None = None
) -> Score:
    """Scores 1 if the right option is chosen, else 0.

    The evidence contains the letter ``found``, and marks an answer that names no
    option.
    """
    details = {"found": chosen.letter, **(evidence or {})}
    if chosen.letter is None:
        details[NO_OPTION] = True
    return Score(float(chosen.letter == right), evidence=details)


_OPTION = "[\ue000-\uf8ff]"
"""A character that represents the text of an option."""
_FIRST_OPTION = 0xE000
_INSIDE_WORD = "A-Za-z0-9_À-ɏ"
"""Characters that make a letter part of a word. Other scripts do not separate words."""
_CAPITAL = rf"(?<![{_INSIDE_WORD}'’-])[A-Z](?![{_INSIDE_WORD}'’]|-[A-Za-z])"
_ONE = rf"(?:{_OPTION}|{_CAPITAL})"
_OPENS = "[(\\[<【「『《〈〔⟨\"'“”„‘’‚«‹]"
_CLOSES = "[)\\]>】」』》〉〕⟩\"'“”’‘»›]"
_SIGNS = "[:=→>–—~|-]"
_MARK = (
    "[\\s()\\[\\]<>【】「」『』《》〈〉〔〕⟨⟩\"'“”„‘’‚«»‹›.,:;!?。、…·•|=→–—~✓✔✅☑👉➡-]"
)
_JOINS = any_of("joins")
_OPTION_NOUN = rf"(?i:{any_of('option')})"
_ARTICLE = any_of("article")
_STATES = rf"(?i:{any_of('states')})"
_FILLER = rf"(?:(?:{_ARTICLE}|{_OPTION_NOUN})[ :]{{0,2}})"

# --- what is rejected

_LISTED = (
    rf"{_ONE}{_CLOSES}{{0,3}}(?:(?:, ?{_OPENS}{{0,3}}{_ONE}{_CLOSES}{{0,3}}){{0,8}}"
    rf",? ?{_JOINS} ?{_OPENS}{{0,3}}{_ONE}{_CLOSES}{{0,3}})?"
)
_NOT_ONLY = r"(?! (?:only|just|merely|solely|nur|solo|sólo|seulement|apenas|только)\b)"
_BEFORE_REJECTED = re.compile(
    rf"(?i:{any_of('rejects')}){_NOT_ONLY}"
    rf"(?: ?(?:{_STATES}|{_ARTICLE}|{_OPTION_NOUN})){{0,4}} ?{_OPENS}{{0,4}}{_LISTED}"
)
_BEHIND_REJECTED = re.compile(
    rf"{_LISTED} ?(?i:{any_of('all_wrong')})"
    rf"|{_ONE}{_CLOSES}{{0,3}} ?(?i:{any_of('wrong')})"
)
_ASKED = re.compile(rf"{_LISTED} ?\?(?= ?\S)")
_CALLED_WRONG = re.compile(
    r"(?i:\b(?:wrong|incorrect|false|worst) (?:answer|choice|option|letter))"
    r"[^.;\n]{0,80}"
)
_NOT = r"(?:\bnot|\bnever|\bcannot|n['’]t)\b"
_BETWEEN = (
    r"(?:[^\S\n](?:to|ever|even|really|\w{1,20}ly|want|going|have|be|the|an?|my|your|"
    r"right|correct|best|final)\b){0,4}"
)
_REJECTED_CLAUSE = re.compile(
    rf"(?:{_NOT}{_BETWEEN}[^\S\n](?:answer|choice|option|choose|pick|select)\b"
    r"|\b(?:answer|choice|option)\b[^.:=\n"
    rf"]{{0,60}}?\bis(?:\s+not\b|n['’]t\b))[^.,;:\n]*?(?=\bbut\b|[.,;:\n]|$)",
    re.IGNORECASE,
)
"""A rejected choice, up to the end of its clause."""
_REJECTED = (
    _BEHIND_REJECTED,
    _REJECTED_CLAUSE,
    _CALLED_WRONG,
    _BEFORE_REJECTED,
    _ASKED,
)


# --- what is chosen

_ALONE_ON_LINE = re.compile(
    rf"\A(?:{_MARK}{{0,12}}{_OPTION_NOUN})?{_MARK}{{0,12}}"
    rf"(?:(?P<letter>[A-Za-z])|(?P<text>{_OPTION})"
    rf"|(?P<letter_before>[A-Za-z]){_MARK}{{1,6}}(?P<text_behind>{_OPTION})"
    rf"|(?P<text_before>{_OPTION}){_MARK}{{1,6}}(?P<letter_behind>[A-Za-z]))"
    rf"{_MARK}{{0,12}}"
)
_ANSWER = re.compile(rf"(?i:{any_of('answer')})")
_OPTION_IS = re.compile(
    rf"{_OPTION_NOUN}[^.:=\nA-Z{_OPTION[1:-1]}]{{0,40}}?(?:{_STATES}|[:=])"
)
_CHOOSES = re.compile(rf"(?i:{any_of('chooses')})")
_CONCLUDES = re.compile(
    rf"(?i:{any_of('concludes')}),? ?:? ?(?={_OPENS}{{0,4}}{_ONE}{_CLOSES}{{0,3}}"
    r" ?(?:[.,;:!\n]|$))"
)
_NAMED_OPTION = re.compile(_OPTION_NOUN)
_UP_TO_STATED = re.compile(rf"\A[^.:=\n。;!?]{{0,60}}?(?:{_STATES}|{_SIGNS})")
_GAP_CHARS = 100
"""Maximum number of characters between "the answer" and the option."""
_CALLED_RIGHT = re.compile(rf"({_ONE}){_CLOSES}{{0,3}} ?(?i:{any_of('right')})")
_STATED = re.compile(
    rf"(?:{_OPENS}|{_SIGNS}|\s){{0,12}}{_FILLER}{{0,4}}(?:{_OPENS}|{_SIGNS}){{0,6}}"
    rf"(?:(?P<text>{_OPTION})"
    rf"|(?P<capital>[A-HJ-Z]|I(?!['’]| [a-z]))(?![{_INSIDE_WORD}])"
    # Lowercase letters that are not words of a language, and others before a mark.
    rf"|(?P<small>[b-df-hj-np-tv-xz](?![{_INSIDE_WORD}'’-])"
    rf"|[a-z](?=[.,;:!?)\]\"'”’»\n]|$)))"
)
_BEHIND_LETTER = r"(?:because|since|due|as|for|remains|fits|it is|is(?=[.!\n]|$))\b"
_ARTICLE_BEHIND = re.compile(rf" (?:(?!{_BEHIND_LETTER})[a-z]|{_OPTION})")
"""Text that can follow the article "A", but not the letter "A"."""
_FURTHER = re.compile(
    # After a comma the letter may begin a clause ("it is C, A has none").
    rf"{_CLOSES}{{0,3}}\.?(?: ?(?:[,/&+;、]|{_JOINS})){{1,3}} ?(?:{_OPTION_NOUN} ?)?"
    rf"{_OPENS}{{0,3}}({_OPTION}|[A-Z])(?![{_INSIDE_WORD}'’])"
    rf"(?= ?(?:$|[\n.,;:/&+(–—-]|{_CLOSES}|{_JOINS}))"
    rf"|{_CLOSES}{{0,3}} ?{_JOINS} ?(?:{_OPTION_NOUN} ?)?"
    rf"{_OPENS}{{0,3}}([B-HJ-Z])(?![{_INSIDE_WORD}'’])"
)
"""A further option in a list of options."""
_OPENS_LINE = re.compile(
    rf"^{_OPENS}{{0,4}}({_OPTION}|[A-Z](?![{_INSIDE_WORD}'’]))", re.MULTILINE
)
_OPENS_TEXT = re.compile(r"\A[(\[]?([a-z])[.)\]](?=\s)")
_LINE_GOES_ON = re.compile(rf"{_CLOSES}| ?[.:,、;–—-](?=\s|$)")
_IN_BRACKETS = re.compile(r"[(\[<【]([A-Z])[)\]>】]")
_STANDS_ALONE = re.compile(rf"({_CAPITAL})")
_MOST_LISTED = 2
"""Maximum number of options in a choice. A longer list is only a list of the
options."""


class _OptionReader:
    """Reads prose about the options of one question."""

    def __init__(self, options: Options) -> None:
        self._order = list(options)
        self._texts: list[tuple[re.Pattern[str], str]] = []
        """The options' texts with their characters, the longest text first."""
        self._letters_of: dict[str, list[str]] = {}
        """The letters of all options with the same text, by the character of this
        text."""
        by_text: dict[str, list[str]] = {}
        for letter, option in options.items():
            words = " ".join(prose(plain_characters(option)).split())
            text = words.strip(" .,;:!?\"'“”。")
            # A text that is the letter of an option is read as that letter.
            if text and text.upper() not in options:
                by_text.setdefault(text.casefold(), []).append(letter)
        longest_first = sorted(by_text, key=len, reverse=True)
        for place, text in enumerate(longest_first):
            character = chr(_FIRST_OPTION + place)
            self._texts.append((_whole_words(text), character))
            self._letters_of[character] = by_text[text]

    def in_markup(self, text: str) -> ChosenOption:
        """Finds the choice in a text. The text's boxes are searched first."""
        for piece in boxed_answers(text):
            boxed = self.in_prose(piece)
            if boxed.letter:
                return boxed._replace(rule="box")
        return self.in_prose(text)

    def in_prose(self, text: str) -> ChosenOption:
        """Finds the choice in a text by the first rule that finds an option."""
        text = self.with_characters(text)
        whole = _ALONE_ON_LINE.fullmatch(text)
        if whole and whole["letter"] and whole["letter"].upper() not in self._order:
            return ChosenOption(None, f"whole: {NAMES_NONE}")
        # An option alone on a line is not part of a clause that rejects it.
        for rule, read in _RULES_OF_LINES.items():
            letters = read(self, text)
            if letters:
                return _chosen(rule, letters)
        remaining = text
        for pattern in _REJECTED:
            remaining = pattern.sub(" ", remaining)
        for rule, read in _RULES.items():
            letters = read(self, remaining)
            if letters:
                return _chosen(rule, letters)
        return ChosenOption(None, NAMES_NONE)

    def with_characters(self, text: str) -> str:
        """Returns prose in which one character replaces the text of each option."""
        text = prose(text)
        for pattern, character in self._texts:
            text = pattern.sub(character, text)
        return text

    # --- the rules

    def whole(self, text: str) -> list[str]:
        match = _ALONE_ON_LINE.fullmatch(text)
        if match is None:
            return []
        letter = match["letter"] or match["letter_before"] or match["letter_behind"]
        option = match["text"] or match["text_behind"] or match["text_before"]
        named = self._named(letter.upper()) if letter else []
        if not option:
            return named
        with_text = self._letters_of[option]
        if not letter:
            return with_text
        # A letter and a text count if both name the same option.
        is_same = bool(named) and named[0] in with_text
        return named if is_same else []

    def last_line(self, text: str) -> list[str]:
        lines = text.rsplit("\n", 2)[-2:]
        if len(lines) < 2:
            return []
        letters = self.whole(lines[1])
        if self._is_next(lines[0], letters):
            return []
        return letters

    def first_line(self, text: str) -> list[str]:
        lines = text.split("\n", 2)[:2]
        if len(lines) < 2:
            return []
        letters = self.whole(lines[0])
        if letters and self._is_next(lines[0], self.whole(lines[1])):
            return []
        return letters

    def _is_next(self, line: str, letters: list[str]) -> bool:
        """Returns True if a line names the option before these options.

        If so, both lines only repeat the list of options.
        """
        before = self.whole(line)
        if not before or not letters:
            return False
        order = self._order
        return order.index(letters[0]) == order.index(before[0]) + 1

    def stated(self, text: str) -> list[str]:
        statements: list[tuple[int, list[str]]] = []
        for match in _CALLED_RIGHT.finditer(text):
            statements.append((match.start(), self._named(match[1])))
        for noun in _ANSWER.finditer(text):
            letters = self._next(text, noun.end(), is_stated=False)
            gap = _UP_TO_STATED.match(text[noun.end() : noun.end() + _GAP_CHARS])
            if not letters and gap:
                letters = self._next(text, noun.end() + gap.end())
            statements.append((noun.start(), letters))
        for pattern in (_OPTION_IS, _CHOOSES, _CONCLUDES):
            for match in pattern.finditer(text):
                letters = self._next(text, match.end())
                statements.append((match.start(), letters))
        last: list[str] = []
        for _, letters in sorted(statements):
            if 0 < len(set(letters)) <= _MOST_LISTED:
                last = letters
        return last

    def option(self, text: str) -> list[str]:
        last: list[str] = []
        several: set[str] = set()
        is_list = False
        for noun in _NAMED_OPTION.finditer(text):
            letters = self._next(text, noun.end(), is_stated=False)
            several.update(letters)
            is_list = is_list or len(set(letters)) > 1
            last = letters or last
        if is_list or len(several) > _MOST_LISTED:
            return sorted(several)
        return last

    def line(self, text: str) -> list[str]:
        letters: list[str] = []
        for match in _OPENS_LINE.finditer(text):
            listed = self._listed(text, match[1], match.end(1))
            if len(listed) > 1 or _LINE_GOES_ON.match(text, match.end()):
                letters += listed
        small = _OPENS_TEXT.match(text)
        if small and not letters:
            return self._named(small[1].upper())
        return letters

    def brackets(self, text: str) -> list[str]:
        return self._first(text, _IN_BRACKETS.finditer(text))

    def letter(self, text: str) -> list[str]:
        capitals = _STANDS_ALONE.finditer(text)
        return self._first(
            text, (capital for capital in capitals if not _is_article(text, capital))
        )

    def text(self, text: str) -> list[str]:
        letters: list[str] = []
        for character in dict.fromkeys(re.findall(_OPTION, text)):
            letters += self._letters_of.get(character, ())
        return letters

    # --- what the rules share

    def _next(
        self,
        text: str,
        position: int,
        *,
        is_stated: bool = True,
    ) -> list[str]:
        """Returns the options that follow a position.

        If they are not stated there, a capital "A" may be an article, and a lowercase
        letter may be part of a sentence.
        """
        match = _STATED.match(text, position)
        if match is None:
            return []
        if not is_stated:
            is_article = match["capital"] == "A" and _is_article(text, match)
            is_prose = match["small"] and text[match.end() : match.end() + 1] == " "
            if is_article or is_prose:
                return []
        written = match["text"] or match["capital"] or match["small"]
        return self._listed(text, written, match.end())

    def _listed(
        self,
        text: str,
        written: str,
        end: int,
    ) -> list[str]:
        """Returns the letters of an option that ends here, and of later options."""
        letters = self._named(written)
        further = _FURTHER.match(text, end)
        while letters and further:
            letters += self._named(further[1] or further[2])
            further = _FURTHER.match(text, further.end())
        return letters

    def _first(self, text: str, matches: Iterator[re.Match[str]]) -> list[str]:
        """Returns the first of two separate letters, or all letters of a list.

        Three or more separate letters count as a list.
        """
        letters: list[str] = []
        for match in matches:
            listed = self._listed(text, match[1], match.end(1))
            if len(set(listed)) > 1:
                return listed
            letters += listed
        distinct = list(dict.fromkeys(letters))
        if len(distinct) <= _MOST_LISTED < len(self._order):
            return distinct[:1]
        return distinct

    def _named(self, written: str) -> list[str]:
        """Returns the letters named by a letter, or by the character of a text."""
        if written in self._letters_of:
            return list(self._letters_of[written])
        letter = written.upper()
        if letter in self._order:
            return [letter]
        return []


_Rules: TypeAlias = Mapping[str, Callable[[_OptionReader, str], list[str]]]
_RULES_OF_LINES: _Rules = {
    "whole": _OptionReader.whole,
    "last line": _OptionReader.last_line,
}
_RULES: _Rules = {
    "stated": _OptionReader.stated,
    "first line": _OptionReader.first_line,
    "option": _OptionReader.option,
    "line": _OptionReader.line,
    "brackets": _OptionReader.brackets,
    "letter": _OptionReader.letter,
    "text": _OptionReader.text,
}


def _chosen(rule: str, letters: Sequence[str]) -> ChosenOption:
    distinct = list(dict.fromkeys(letters))
    if len(distinct) == 1:
        return ChosenOption(distinct[0], rule)
    several = " and ".join(distinct)
    return ChosenOption(None, f"{rule}: names {several or 'no option'}")


def _is_article(text: str, letter: re.Match[str]) -> bool:
    """Returns True if a capital is the article "A" or the pronoun "I".

    The capital is one of these words if a lowercase letter follows that does not begin
    a list.
    """
    if letter[0][-1] not in "AI":
        return False
    goes_on = _ARTICLE_BEHIND.match(text, letter.end())
    return goes_on is not None and _FURTHER.match(text, letter.end()) is None


def _whole_words(text: str) -> re.Pattern[str]:
    """Returns a pattern for a text that is not part of a longer word or number.

    In scripts that do not separate words, the text may be next to any letter.
    """
    pattern = re.escape(text).replace(r"\ ", r"\s")
    if _has_edges(text[0]):
        pattern = rf"(?<!\w)(?<!\d[.,]){pattern}"
    if _has_edges(text[-1]):
        pattern += r"(?!\w|[.,]\d)"
    return re.compile(pattern, re.IGNORECASE)


def _has_edges(character: str) -> bool:
    is_wide = unicodedata.east_asian_width(character) in "WF"
    return (character.isalnum() or character == "_") and not is_wide
