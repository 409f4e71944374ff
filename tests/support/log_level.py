"""Tests that configure the log leave it as they found it."""

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def restored_log() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("mmeval")
    handlers, level = list(root.handlers), ours.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        ours.setLevel(level)
