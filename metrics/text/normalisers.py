"""Normalises texts before their words are compared."""

from __future__ import annotations

import functools
import string
import unicodedata
from collections.abc import Callable, Mapping
from typing import Literal

Normaliser = Literal["ocr", "speech", "none"]
"""``ocr`` is for text read in a picture, ``speech`` is for transcripts, and ``none``
does not change a text."""

NO_WORDS = "<none>"
"""The result of ``ocr`` for a text without words. This makes two texts without words
equal."""

NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def ocr(text: str) -> str:
    """Removes capitals, accents and ASCII punctuation: MMMG's rule for picture text.

    >>> ocr(" Café, 24 h! ")
    'cafe 24 h'
    >>> ocr("...")
    '<none>'
    """
    apart = unicodedata.normalize("NFD", text.lower().strip())
    letters = [letter for letter in apart if unicodedata.category(letter) != "Mn"]
    words = "".join(letters).translate(NO_PUNCTUATION)
    if not words.strip():
        return NO_WORDS
    return words


def speech(text: str) -> str:
    """Applies Whisper's normaliser of English.

    MMMG's released scorer also uses it for Chinese.

    The result is in lowercase, without punctuation and without text in brackets.
    Numbers are written in digits, contractions are written out, and spellings are
    American.

    >>> speech("It's twenty-one (or so) colours, Mr. Smith!")
    'it is 21 colors mister smith'
    """
    return _whisper()(text).strip()


def plain(text: str) -> str:
    return text


def han(text: str) -> str:
    """Keeps only the Chinese characters: U+4E00 to U+9FFF.

    >>> han("“和平”, hè píng")
    '和平'
    """
    return "".join(letter for letter in text if "\u4e00" <= letter <= "\u9fff")


NORMALISERS: Mapping[Normaliser, Callable[[str], str]] = {
    "ocr": ocr,
    "speech": speech,
    "none": plain,
}


@functools.cache
def _whisper() -> Callable[[str], str]:
    """Returns the library's normaliser without four contractions.

    The released scorer uses the tokeniser of transformers, which does not know these
    contractions.
    """
    from whisper_normalizer.english import EnglishTextNormalizer

    english = EnglishTextNormalizer()
    for word in ("cause", "dunno", "kinda", "sorta"):
        english.replacers.pop(rf"\b{word}\b", None)
    normaliser: Callable[[str], str] = english
    return normaliser
