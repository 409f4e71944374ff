"""Seeds the global generator of torch for models that draw from it.

With such models (mostly speech models), the draws of a row would depend on all earlier
rows. Therefore rows run one by one, each in a :func:`seeded` block.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOCK = threading.RLock()
"""Protects the generator, which all threads of the process share."""
_SEED_BITS = (1 << 63) - 1


@contextmanager
def seeded(seed: int, device: Any) -> Iterator[None]:
    """Seeds the generators, so that all draws depend only on the seed.

    The generators are restored afterwards.

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
