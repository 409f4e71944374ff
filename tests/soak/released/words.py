"""Windows of eight words, and their digests.

Facts do not count: names of fields and the weights of a formula, which are no words of
letters, and the keys of a reply, which repeat few words.
"""

import hashlib
import re
from collections.abc import Iterator

IN_A_ROW = 8
SIZE = 6
"""Bytes of a digest, so that no window of the tree has the digest of another."""
_DIFFERENT = 5
_WORD = re.compile(r"\w+")


def window_digests(text: str) -> Iterator[bytes]:
    """Yields the digest of each eight words in a row."""
    words = [word for word in _WORD.findall(text.lower()) if word.isalpha()]
    for begin in range(len(words) - IN_A_ROW + 1):
        window = words[begin : begin + IN_A_ROW]
        if len(set(window)) >= _DIFFERENT:
            text = " ".join(window)
            yield hashlib.blake2b(text.encode(), digest_size=SIZE).digest()
