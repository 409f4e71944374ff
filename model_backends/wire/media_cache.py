"""A cache of encoded media: each is encoded once for all requests that send it at about
the same time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

MAX_KEPT_BYTES = 2**26
"""Size of the cache: the pictures of a few answers, since a judge asks many questions
about each answer."""


class MediaCache:
    """Encoded media by key, up to ``max_bytes``.

    The least recently used are dropped first. Safe to share between threads.
    """

    def __init__(self, max_bytes: int = MAX_KEPT_BYTES) -> None:
        self._max_bytes, self._size = max_bytes, 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, Future[bytes]] = OrderedDict()

    def get(self, key: str, encode: Callable[[], bytes]) -> bytes:
        """Returns the bytes for a key, encoded now or by another thread.

        Raises what ``encode`` raises.
        """
        with self._lock:
            cached = self._entries.get(key)
            if cached is None:
                entry = self._entries[key] = Future[bytes]()
            else:
                self._entries.move_to_end(key)
        if cached is not None:
            return cached.result()
        try:
            encoded = encode()
        except BaseException as error:  # waiting threads raise it too
            with self._lock:
                del self._entries[key]
            entry.set_exception(error)
            raise
        entry.set_result(encoded)
        with self._lock:
            self._size += len(encoded)
            while self._size > self._max_bytes:
                oldest_key, oldest_entry = next(iter(self._entries.items()))
                if not oldest_entry.done():
                    break
                self._size -= len(oldest_entry.result())
                del self._entries[oldest_key]
        return encoded
