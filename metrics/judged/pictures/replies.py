"""The replies to questions about pictures: how they are requested and read.

Each kind of question has two forms. The ``robust`` one asks for a JSON object, also
accepts a plain reply that says one thing, and refuses the rest, after which the judge
is asked again. The ``official`` one asks for the plain reply of MMMG's release and
reads it as the release does, oddities included (spec of the judge questions; code
30c9f602): it refuses nothing but an empty reply.

The decided value is always ``answer``: ``yes`` or ``no``, a letter, or words.
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
"""The characters at the end of an official reply that are searched for yes or no."""
UNREAD = ""
"""The answer of an official reply that the release cannot read: it is wrong, unless an
empty answer is wanted."""


@dataclass(frozen=True)
class RobustForm(ReplyForm):
    """A JSON object of these fields; else ``plain`` reads it, or raises ReplyError."""

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
    """The plain reply of the release: ``wording`` asks for it, ``parse`` reads any.
    ``readable`` says whether a reply has the requested form; it changes no answer."""

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
class _YesNo:
    """Yes or no, as these words."""

    name: str = ANSWER
    unsure: bool = False
    optional: bool = False

    def asked(self) -> str:
        return YesNo(self.name).asked()

    def read(self, value: Any) -> str:
        return "yes" if YesNo(self.name).read(value) else "no"


@dataclass(frozen=True)
class _Words:
    """A text that was read, or with ``several`` a list of texts, joined with blanks."""

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
    """Yes or no; ``reasons`` says whether the official reply begins with reasons.
    ``word`` is what the official reading looks for: its answer is the word, or
    nothing."""
    fields = _fields(_YesNo())
    if reading == "robust":
        return RobustForm(fields, plain_yes_no, example='{"answer": "yes"}')
    wording = 'Reply with "Yes" or "No" only.'
    if reasons:
        wording = 'Reason step by step, then end your reply with "Yes" or "No".'

    def parse(text: str) -> str:
        return word if word in reply_tail(text) else UNREAD

    def readable(text: str) -> bool:
        tail = reply_tail(text)
        return "yes" in tail or "no" in tail

    return OfficialForm(fields, wording, parse, readable, example="Yes")


def letter_form(
    reading: Reading, letters: Sequence[str], *, stated: bool = True
) -> ReplyForm:
    """One of some letters; ``stated``: officially a final ``Answer: X``, else alone."""
    if reading == "robust":
        fields = _fields(Choice(ANSWER, tuple(letters)))
        return RobustForm(fields, lambda text: plain_letter(text, letters))
    fields = _fields(_Words(False))
    if stated:
        wording = (
            "Reason step by step, then end your reply with `Answer: X`, where X is "
            "the letter."
        )
        return OfficialForm(
            fields,
            wording,
            parse=lambda text: stated_letter(text, letters),
            readable=lambda text: stated_letter(text, letters) != UNREAD,
        )
    return OfficialForm(
        fields,
        "Reply with the letter only.",
        parse=first_letter,
        readable=lambda text: first_letter(text) in letters,
    )


def words_form(reading: Reading) -> ReplyForm:
    """The texts of a picture, as one text."""
    if reading == "robust":
        return RobustForm(_fields(_Words(True)), plain_texts)
    return OfficialForm(
        _fields(_Words(True)),
        "Reply with a JSON list of strings only.",
        parse=listed_texts,
        readable=lambda text: texts_in(text) is not None,
    )


def characters_form(reading: Reading) -> ReplyForm:
    """The Chinese characters of a picture; the comparison leaves out everything
    else."""
    if reading == "robust":
        return RobustForm(_fields(_Words(False)), plain_characters)
    return OfficialForm(
        _fields(_Words(False)),
        "Reply with the characters only.",
        parse=han,
        readable=lambda text: bool(han(text)),
    )


def _fields(answer: Field) -> tuple[Field, Field]:
    return (Text("reason"), answer)


# --- the release's readings -----------------------------------------------------------


def reply_tail(text: str) -> str:
    """The last 20 characters, where the release looks for yes or no.
    Official oddity: `no` is found in "snow" and "not", `yes` in "eyes"."""
    return text.strip().lower()[-TAIL_CHARS:]


def stated_letter(text: str, letters: Sequence[str]) -> str:
    """The first ``nswer: X``. Official oddity: exactly one blank, no bracket, no
    star."""
    found = re.search(f"nswer: ([{''.join(letters)}])", text)
    if found is None:
        return UNREAD
    return found[1]


def first_letter(text: str) -> str:
    """The first character, as a capital. Official oddity: "four" is F, "A few" is A."""
    return text.strip()[:1].upper()


def listed_texts(text: str) -> str:
    """The items of the first list that stands on one line, in small letters.
    Official oddity: only strict JSON is a list; single quotes make it empty."""
    items = texts_in(text)
    if items is None:
        return UNREAD
    return " ".join(items).lower().strip()


# --- plain replies, read robustly -----------------------------------------------------

_SENTENCE_END = re.compile(r"[.!?:;\n。！？：；]++")
_LAST_CHARS = 400
_YES_OR_NO = re.compile(
    r"(?:(?:(?:so|thus|hence|therefore)\W+)?(?:the |my )?(?:final )?answer "
    r"is\W+)?(yes|no)"
)
_STATED = re.compile(r"(?i:answer)(?i:\s+is)?+\W{1,8}+([A-Z])(?![A-Za-z])")
_ALONE = re.compile(r"\W*+([A-Za-z])(?:[.):](?:[ \t][^\n]{0,200}+)?|\W*+)")


def plain_yes_no(text: str) -> str:
    """Yes or no as the whole last sentence, or "the answer is yes"; else ReplyError."""
    last = ""
    for piece in _SENTENCE_END.split(text[-_LAST_CHARS:]):
        last = _bare(piece) or last
    found = _YES_OR_NO.fullmatch(last.casefold())
    if found is None:
        raise ReplyError("the reply does not end with yes or no")
    return found[1]


def plain_letter(text: str, letters: Sequence[str]) -> str:
    """The one letter that is stated (``Answer: B``), or alone. Raises ReplyError."""
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
    """The texts of the one list of a reply, in any quotes. Raises ReplyError."""
    start, end = text.find("["), text.rfind("]")
    if not 0 <= start < end:
        raise ReplyError("the reply holds no list of texts")
    as_object = f'{{"{ANSWER}": {text[start : end + 1]}}}'
    return _Words(True).read(read_object(as_object, [ANSWER])[ANSWER])


def plain_characters(text: str) -> str:
    """A reply of only Chinese characters, perhaps in quotes and with blanks. Raises
    ReplyError for other text, which may be prose about the picture, or a refusal."""
    read = _bare(text)
    if not read or "\n" in read or han(read) != "".join(read.split()):
        raise ReplyError("the reply is not only the characters that were read")
    return read


def _bare(piece: str) -> str:
    """A piece without the quotes, stars and blanks around it."""
    return re.sub(r"^[\W_]++|[\W_]++$", "", piece)
