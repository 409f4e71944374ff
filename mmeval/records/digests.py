"""Digests of values, equal on every machine, and seeds derived from them."""

from __future__ import annotations

import hashlib
import inspect
import json
import marshal
from collections.abc import Callable, Sequence
from typing import Any

from mmeval.media.parts import Interleaved

DIGEST_CHARS = 32
"""The number of hex characters of a SHA-256 that are kept (128 bits). The lines are
short, and collisions do not happen in practice."""

_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


def canonical_json(value: Any) -> bytes:
    """Returns canonical JSON as UTF-8.

    Keys are sorted, there are no spaces, and lone surrogates are kept.

    Raises ValueError for NaN and infinities, which JSON cannot represent.
    """
    return _encode(value).encode("utf-8", "surrogatepass")


def digest(value: Any) -> str:
    """Returns the digest of a JSON value: 32 hex characters."""
    return hashlib.sha256(canonical_json(value)).hexdigest()[:DIGEST_CHARS]


def code_digest(function: Callable[..., Any]) -> str:
    """Returns the digest of a function's source text.

    If the source is unavailable, the digest is that of the bytecode.
    """
    try:
        return digest(inspect.getsource(function))
    except (OSError, TypeError):  # for example typed into an interactive prompt
        # Version 2 of marshal writes the same bytes in every process.
        return digest(marshal.dumps(function.__code__, 2).hex())


def call_seed(run_seed: int, request_digest: str, *draws: int) -> int:
    """Returns the seed of a call, in 0 .. 2**31 - 1.

    The seed depends on the request, not on the task, so equal requests of two tasks
    have equal seeds. ``draws`` are numbers that tell apart calls with the same request.
    These numbers are, in this order, the repeat of the trial, the number of earlier
    calls with the same request in the program that makes this call, the number of
    earlier equal calls to the agent that makes this call (0 without an agent), and the
    number of rejected replies to this call. Trailing zeros may be left out.
    """
    while len(draws) > 1 and not draws[-1]:
        draws = draws[:-1]
    text = "/".join(map(str, (run_seed, request_digest, *draws)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def line_digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()[:DIGEST_CHARS]


def content_digest(head: bytes, contents: Sequence[tuple[str, Interleaved]]) -> str:
    """Returns the digest of named contents: order, kinds, words and media bytes.

    The length of each field is written before the field, so different contents never
    have the same bytes.
    """
    sized: list[str] = []
    for word, content in contents:
        count = str(len(content.parts))
        sized.append(f"{len(word)}:{word}{len(count)}:{count}")
        for part in content.parts:
            kind, raw, text = part.kind, part.raw, part.text or ""
            media = "" if part.media is None else part.media.sha256
            sized.append(f"{len(kind)}:{kind}{len(raw)}:{raw}")
            sized.append(f"{len(text)}:{text}{len(media)}:{media}")
    fields = "".join(sized).encode("utf-8", "surrogatepass")
    return line_digest(b"%d:%b%b" % (len(head), head, fields))
