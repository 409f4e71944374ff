"""Seeds the global generator of torch for models that draw from it.

With such models (mostly of speech), a row's draws would depend on all earlier rows. So
they run row by row, each in a :func:`seeded` block.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOCK = threading.RLock()
"""A lock: the generator belongs to the process, and other backends use threads."""
_SEED_BITS = (1 << 63) - 1


@contextmanager
def seeded(seed: int, device: Any) -> Iterator[None]:
    """Seed the generators, so that all draws depend on the seed only. They are restored
    afterwards.

    ``device`` is the model's torch device (``Any``, because torch is optional). Other
    threads that draw from the global generator without this lock still interfere.
    """
    import torch

    # a model may be split over several devices
    accelerators = range(0)
    if device.type == "cuda":
        accelerators = range(torch.cuda.device_count())
    with _LOCK, torch.random.fork_rng(devices=accelerators):
        torch.manual_seed(seed & _SEED_BITS)
        yield
