"""The last encoded media, each encoded once for all requests that send it at about the
same time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

MAX_KEPT_BYTES = 2**26
"""Of all that are kept: the pictures of a few answers, about each of which a judge has
many questions."""


class MediaCache:
    """Encoded media by key, up to a number of bytes; the oldest go first. Threads share
    it."""

    def __init__(self, most: int = MAX_KEPT_BYTES) -> None:
        self._most, self._held = most, 0
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Future[bytes]] = OrderedDict()

    def get(self, key: str, encode: Callable[[], bytes]) -> bytes:
        """The bytes of a key, encoded now or by another thread. Raises what ``encode``
        raises."""
        with self._lock:
            known = self._known.get(key)
            if known is None:
                made = self._known[key] = Future[bytes]()
            else:
                self._known.move_to_end(key)
        if known is not None:
            return known.result()
        try:
            encoded = encode()
        except BaseException as error:  # the threads that wait raise it too
            with self._lock:
                del self._known[key]
            made.set_exception(error)
            raise
        made.set_result(encoded)
        with self._lock:
            self._held += len(encoded)
            while self._held > self._most:
                oldest, held = next(iter(self._known.items()))
                if not held.done():
                    break
                self._held -= len(held.result())
                del self._known[oldest]
        return encoded
