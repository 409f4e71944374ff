"""Caches encoded media for requests that send them at about the same time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

MAX_KEPT_BYTES = 2**26
"""Size of the cache in bytes.

The cache can contain the pictures of a few answers, because a judge asks many questions
about each answer.
"""


class MediaCache:
    """A cache of encoded media by key, with at most ``max_bytes``.

    The least recently used media are dropped first. Threads can share the cache.
    """

    def __init__(self, max_bytes: int = MAX_KEPT_BYTES) -> None:
        self._max_bytes, self._size = max_bytes, 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, Future[bytes]] = OrderedDict()

    def get(self, key: str, encode: Callable[[], bytes]) -> bytes:
        """Returns the bytes for a key, which this or another thread has encoded.

        Raises the exceptions of ``encode``.
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
        except BaseException as error:  # threads that wait must raise it too
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
