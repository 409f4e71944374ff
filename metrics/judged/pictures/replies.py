"""Requests and reads the replies to questions about pictures.

Each kind of question has two forms. The ``robust`` form asks for a JSON object. This
form also accepts a plain reply with a single meaning. All other replies are rejected,
and then the judge is asked again. The ``official`` form asks for the plain reply of
MMMG's release and reads it like the released script, oddities included (code 30c9f602).
This form rejects only an empty reply.

The value of a vote is ``answer``: ``yes`` or ``no``, a letter, or words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mmeval.metric.judge import (
    MAX_CHARS,
    MAX_TEXT_CHARS,
    Choice,
    Field,
    ReplyError,
    ReplyForm,
    Text,
    Vote,
    YesNo,
    read_object,
)
from mmeval.metrics.judged.reading import UNREADABLE, Reading
from mmeval.metrics.structure.self_description import texts_in
from mmeval.metrics.text.normalisers import han

ANSWER = "answer"
TAIL_CHARS = 20
"""Number of characters at the end of an official reply that are searched for yes or
no."""
NO_ANSWER = ""
"""The answer that is taken from an official reply if the released script cannot read
it. This answer is wrong unless an empty answer is expected."""


@dataclass(frozen=True)
class RobustForm(ReplyForm):
    """A JSON object with these fields, or a text that ``plain`` can read."""

    plain: Callable[[str], str]

    @property
    def asked(self) -> str:
        return (
            "Think first. Then reply with one JSON object of this form and nothing "
            f"after it:\n{super().asked}"
        )

    def read(self, text: str) -> Vote:
        if "{" in text or len(text) > MAX_CHARS:
            return super().read(text)
        return {"reason": text[:MAX_TEXT_CHARS], ANSWER: self.plain(text)}


@dataclass(frozen=True)
class OfficialForm(ReplyForm):
    """The plain reply of the release.

    ``wording`` requests the plain reply, and ``parse`` reads any reply. ``readable`` is
    true if a reply has the requested form; it does not change the answer.
    """

    wording: str
    parse: Callable[[str], str]
    readable: Callable[[str], bool]

    @property
    def reads_refusals(self) -> bool:
        return True

    @property
    def asked(self) -> str:
        return self.wording

    def read(self, text: str) -> Vote:
        if not text.strip():
            raise ReplyError("the reply is empty")
        vote: dict[str, Any] = {
            "reason": text[:MAX_TEXT_CHARS],
            ANSWER: self.parse(text),
        }
        if not self.readable(text):
            vote[UNREADABLE] = True
        return vote


@dataclass(frozen=True)
class _YesNoField:
    """The word ``yes`` or ``no``."""

    name: str = ANSWER
    unsure: bool = False
    optional: bool = False

    def asked(self) -> str:
        return YesNo(self.name).asked()

    def read(self, value: Any) -> str:
        return "yes" if YesNo(self.name).read(value) else "no"


@dataclass(frozen=True)
class _TextField:
    """A text, or with ``several`` a list of texts, which are joined by spaces."""

    several: bool
    name: str = ANSWER
    unsure: bool = False
    optional: bool = False

    def asked(self) -> str:
        return "a list of texts" if self.several else "a text"

    def read(self, value: Any) -> str:
        items = value if self.several else [value]
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return " ".join(items)
        raise ReplyError(f"is not {self.asked()}")


def yes_no_form(
    reading: Reading, word: Literal["yes", "no"], *, reasons: bool = True
) -> ReplyForm:
    """Returns the form of a reply with yes or no.

    The official reading only searches for ``word``, and the answer is the word or
    empty. With ``reasons`` the official reply begins with reasons.
    """
    fields = _fields(_YesNoField())
    if reading == "robust":
        return RobustForm(fields, plain_yes_no, example='{"answer": "yes"}')
    wording = 'Reply with "Yes" or "No" only.'
    if reasons:
        wording = 'Reason step by step, then end your reply with "Yes" or "No".'

    def parse(text: str) -> str:
        return word if word in reply_tail(text) else NO_ANSWER

    def readable(text: str) -> bool:
        tail = reply_tail(text)
        return "yes" in tail or "no" in tail

    return OfficialForm(fields, wording, parse, readable, example="Yes")


def letter_form(
    reading: Reading, letters: Sequence[str], *, stated: bool = True
) -> ReplyForm:
    """Returns the form of a reply with one letter."""
    if reading == "robust":
        fields = _fields(Choice(ANSWER, tuple(letters)))
        return RobustForm(fields, lambda text: plain_letter(text, letters))
    fields = _fields(_TextField(False))
    if stated:
        wording = (
            "Reason step by step, then end your reply with `Answer: X`, where X is "
            "the letter."
        )
        return OfficialForm(
            fields,
            wording,
            parse=lambda text: stated_letter(text, letters),
            readable=lambda text: stated_letter(text, letters) != NO_ANSWER,
        )
    return OfficialForm(
        fields,
        "Reply with the letter only.",
        parse=first_letter,
        readable=lambda text: first_letter(text) in letters,
    )


def words_form(reading: Reading) -> ReplyForm:
    """Returns the form of a reply with the texts in a picture, read as one text."""
    if reading == "robust":
        return RobustForm(_fields(_TextField(True)), plain_texts)
    return OfficialForm(
        _fields(_TextField(True)),
        "Reply with a JSON list of strings only.",
        parse=listed_texts,
        readable=lambda text: texts_in(text) is not None,
    )


def characters_form(reading: Reading) -> ReplyForm:
    """Returns the form of a reply with the Chinese characters in a picture."""
    if reading == "robust":
        return RobustForm(_fields(_TextField(False)), plain_characters)
    return OfficialForm(
        _fields(_TextField(False)),
        "Reply with the characters only.",
        parse=han,
        readable=lambda text: bool(han(text)),
    )


def _fields(answer: Field) -> tuple[Field, Field]:
    return (Text("reason"), answer)


# --- the release's readings -----------------------------------------------------------


def reply_tail(text: str) -> str:
    """Returns the last 20 characters, which the released script searches for yes or no.

    Official oddity: it finds `no` in "snow" and "not", and `yes` in "eyes".
    """
    return text.strip().lower()[-TAIL_CHARS:]


def stated_letter(text: str, letters: Sequence[str]) -> str:
    """Returns the letter of the first ``nswer: X``; empty if there is none.

    Official oddity: the letter must follow exactly one space, without a bracket or
    star.
    """
    match = re.search(f"nswer: ([{''.join(letters)}])", text)
    if match is None:
        return NO_ANSWER
    return match[1]


def first_letter(text: str) -> str:
    """Returns the first character as a capital.

    Official oddity: "four" is read as F, and "A few" as A.
    """
    return text.strip()[:1].upper()


def listed_texts(text: str) -> str:
    """Returns the items of the first list on one line, in lowercase.

    The result is empty without a list. Official oddity: only strict JSON counts as a
    list, so a list with single quotes is empty.
    """
    items = texts_in(text)
    if items is None:
        return NO_ANSWER
    return " ".join(items).lower().strip()


# --- plain replies, read robustly -----------------------------------------------------

# Possessive quantifiers: the patterns read hostile text in linear time.
_SENTENCE_END = re.compile(r"[.!?:;\n。！？：；]++")
_LAST_CHARS = 400
_YES_OR_NO = re.compile(
    r"(?:(?:(?:so|thus|hence|therefore)\W+)?(?:the |my )?(?:final )?answer "
    r"is\W+)?(yes|no)"
)
_STATED = re.compile(r"(?i:answer)(?i:\s+is)?+\W{1,8}+([A-Z])(?![A-Za-z])")
_ALONE = re.compile(r"\W*+([A-Za-z])(?:[.):](?:[ \t][^\n]{0,200}+)?|\W*+)")


def plain_yes_no(text: str) -> str:
    """Returns yes or no from the last sentence.

    The sentence is the word alone, or "the answer is yes". Raises ReplyError for other
    replies.
    """
    last = ""
    for piece in _SENTENCE_END.split(text[-_LAST_CHARS:]):
        last = _bare(piece) or last
    match = _YES_OR_NO.fullmatch(last.casefold())
    if match is None:
        raise ReplyError("the reply does not end with yes or no")
    return match[1]


def plain_letter(text: str, letters: Sequence[str]) -> str:
    """Returns the letter that a reply states (``Answer: B``) or consists of.

    Raises ReplyError if there is no such letter, or if several are stated.
    """
    stated = set(_STATED.findall(text))
    if len(stated) > 1:
        raise ReplyError("the reply states several letters")
    letter = "".join(stated)
    alone = _ALONE.fullmatch(text.strip())
    if alone and not letter:
        letter = alone[1].upper()
    if letter not in letters:
        raise ReplyError(f"the reply states none of the letters {', '.join(letters)}")
    return letter


def plain_texts(text: str) -> str:
    """Returns the texts of a reply's list, in any quotes.

    Raises ReplyError if there is no list.
    """
    start, end = text.find("["), text.rfind("]")
    if not 0 <= start < end:
        raise ReplyError("the reply does not contain a list of texts")
    as_object = f'{{"{ANSWER}": {text[start : end + 1]}}}'
    return _TextField(True).read(read_object(as_object, [ANSWER])[ANSWER])


def plain_characters(text: str) -> str:
    """Returns a reply that consists of Chinese characters, quotes and spaces.

    Raises ReplyError for other text, which may be prose about the picture or a refusal.
    """
    characters = _bare(text)
    has_other_text = han(characters) != "".join(characters.split())
    if not characters or "\n" in characters or has_other_text:
        raise ReplyError("the reply contains other text than the characters read")
    return characters


def _bare(piece: str) -> str:
    """Removes the quotes, stars and spaces around a text."""
    return re.sub(r"^[\W_]++|[\W_]++$", "", piece)
