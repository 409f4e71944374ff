"""Normalisers of texts before words are compared."""

from __future__ import annotations

import functools
import importlib.util
import string
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Literal

from mmeval.errors import MissingExtraError
from mmeval.system import need

Normaliser = Literal["ocr", "speech", "none"]
"""``ocr`` for text read in a picture, ``speech`` for transcripts, ``none``: unchanged."""

SPEECH_NEEDS = ("transformers:hf",)
"""The packages of a metric that normalises as ``speech``, for ``@metric(needs=...)``."""

NO_WORDS = "<none>"
"""The result of ``ocr`` for a text without words, so that two empty texts are equal."""

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def ocr(text: str) -> str:
    """Small letters, no accents, no ASCII punctuation: MMMG's rule for picture text.

    >>> ocr(" Café, 24 h! ")
    'cafe 24 h'
    >>> ocr("...")
    '<none>'
    """
    apart = unicodedata.normalize("NFD", text.lower().strip())
    words = "".join(letter for letter in apart if unicodedata.category(letter) != "Mn").translate(_NO_PUNCTUATION)
    return words if words.strip() else NO_WORDS


def speech(text: str) -> str:
    """Whisper's normaliser of English, without its table of British spellings.
    Small letters, no punctuation, numbers as digits, contractions written out, nothing that stands in brackets. MMMG
    uses it for Chinese, too.

    Raises MissingExtraError without transformers (the extra ``hf``).
    """
    normalised: str = _whisper()(text)
    return normalised.strip()


def plain(text: str) -> str:
    return text


def han(text: str) -> str:
    """The Chinese characters alone: U+4E00 to U+9FFF.

    >>> han("“和平”, hè píng")
    '和平'
    """
    return "".join(letter for letter in text if "\u4e00" <= letter <= "\u9fff")


NORMALISERS: Mapping[Normaliser, Callable[[str], str]] = {"ocr": ocr, "speech": speech, "none": plain}


def lacking(name: Normaliser) -> str:
    """A normaliser's missing package, with the install command; empty if none is."""
    if name != "speech" or importlib.util.find_spec("transformers") is not None:
        return ""
    return str(MissingExtraError("transformers", "hf"))


@functools.cache
def _whisper() -> Callable[[str], Any]:  # of a library that is not installed where types are checked
    made: Callable[[str], Any] = need("transformers.models.whisper.english_normalizer", "hf").EnglishTextNormalizer({})
    return made
