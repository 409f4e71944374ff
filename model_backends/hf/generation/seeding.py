"""Seeds the library's global generator for models that draw from it.

Some models (mostly of speech) draw from the global generator of torch, so that a row's
draws would depend on every row before it. They are asked row by row, each in a
:func:`seeded` block.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_ONE_AT_A_TIME = threading.RLock()
"""The generator belongs to the process, and other backends work in other threads."""
_SEED_BITS = (1 << 63) - 1


@contextmanager
def seeded(seed: int, device: Any) -> Iterator[None]:
    """Make all draws depend on the seed alone; afterwards the generators are restored.

    ``device`` is the torch device that the model draws on (``Any``: torch has no types
    here). Other code that draws from the global generator in another thread would still
    disturb it.
    """
    import torch

    # a model may be on several
    accelerators = range(0)
    if device.type == "cuda":
        accelerators = range(torch.cuda.device_count())
    with _ONE_AT_A_TIME, torch.random.fork_rng(devices=accelerators):
        torch.manual_seed(seed & _SEED_BITS)
        yield
