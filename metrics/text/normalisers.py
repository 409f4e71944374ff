"""Normalisers: what of a text counts before words are compared."""

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
"""``ocr`` for what is read on a picture, ``speech`` for what was heard, ``none``: as it is."""

SPEECH_NEEDS = ("transformers:hf",)
"""What a metric that normalises as ``speech`` imports, for ``@metric(needs=...)``."""

NO_WORDS = "<none>"
"""What ``ocr`` leaves of a text without words, so that nothing read where nothing stands is right."""

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def ocr(text: str) -> str:
    """Small letters without accents and ASCII punctuation, as MMMG compares what is read on a picture.

    >>> ocr(" Café, 24 h! ")
    'cafe 24 h'
    >>> ocr("...")
    '<none>'
    """
    apart = unicodedata.normalize("NFD", text.lower().strip())
    words = "".join(letter for letter in apart if unicodedata.category(letter) != "Mn").translate(_NO_PUNCTUATION)
    return words if words.strip() else NO_WORDS


def speech(text: str) -> str:
    """Whisper's normaliser of English, without its table of British spellings: small letters, no punctuation, numbers
    as digits, contractions written out, nothing that stands in brackets. MMMG uses it for Chinese, too.

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
    """The package that a normaliser needs and that is not installed, with the command; empty when nothing lacks."""
    if name != "speech" or importlib.util.find_spec("transformers") is not None:
        return ""
    return str(MissingExtraError("transformers", "hf"))


@functools.cache
def _whisper() -> Callable[[str], Any]:  # of a library that is absent where types are checked
    made: Callable[[str], Any] = need("transformers.models.whisper.english_normalizer", "hf").EnglishTextNormalizer({})
    return made
