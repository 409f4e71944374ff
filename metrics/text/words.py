"""Splits a text into words like NLTK's Treebank tokeniser of English, without NLTK."""

from __future__ import annotations

import re

_OPENED = re.compile(r'(?<=[ (\[{<])"')
_BEFORE_WORD = re.compile(r"(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", re.IGNORECASE)
_MARKS = re.compile(
    r"[«“‘„»”’;@#$%&?!*()\[\]{}<>\u2012-\u2015]|`+|\.{2,}|--|''|[:,](?!\d)"
)
_STOP = re.compile(r"(?<=[^ .])(?:\.(?=[ '»”’)\]}>]*$)|(?<![ .][^\W\d])\.(?='* ))")
_LAST_QUOTE = re.compile(r"(?<=[^ '])'(?= )")
_ENDING = re.compile(r"(?<=[^ '])('(?:s|m|d|ll|re|ve)|n't)(?= )", re.IGNORECASE)
_TWO_IN_ONE = re.compile(
    r"\b(?:(can)(not)|(d)('ye)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me)|(more)('n)|"
    r"(wan)(na(?= )))\b",
    re.IGNORECASE,
)
_SHORTENED_IT = re.compile(r"(?<= )('t)(is|was)\b", re.IGNORECASE)


def tokens_of(text: str) -> list[str]:
    """Splits a text into words, endings and marks: ``do n't``, ``it 's``, ``can not``.

    This function works like ``nltk.word_tokenize``, but without the list of
    abbreviations: a full stop is only kept with a single letter, not with ``Dr.``. The
    time is linear in the length of the text.

    >>> tokens_of("We can't wait: it's 3.5 km.")
    ['We', 'ca', "n't", 'wait', ':', 'it', "'s", '3.5', 'km', '.']
    """
    text = f" {' '.join(text.split())} "
    text = _BEFORE_WORD.sub("' ", _OPENED.sub(" `` ", text))
    text = _MARKS.sub(r" \g<0> ", text.replace('"', " '' "))
    text = _LAST_QUOTE.sub(" '", _STOP.sub(" .", text))
    text = _ENDING.sub(r" \1", text)
    text = _TWO_IN_ONE.sub(lambda match: " ".join(filter(None, match.groups())), text)
    return _SHORTENED_IT.sub(r"\1 \2", text).split()


def count_words(text: str) -> int:
    """Counts the words of a text: tokens of letters and digits, or with an apostrophe.

    A closing quotation mark becomes two apostrophes, so it counts as a word, as in
    MMMG's released scorer. Normalised transcripts do not contain quotation marks.

    >>> count_words("We can't wait: it's fun!")
    7
    """
    return sum(token.isalnum() or "'" in token for token in tokens_of(text))
