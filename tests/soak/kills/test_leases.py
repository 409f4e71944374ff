"""Two processes start at the same moment where a killed one has left its lease."""

import errno
import fcntl
import json
import logging
import multiprocessing
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mmeval.store.lock import HeldError, Lock

RACES = 1000
PATIENCE = 120.0
"""Seconds after which a starter that does not come is a fault."""


def test_of_two_starters_on_a_stale_lease_one_holds_the_run_in_each_of_1000_races(
    tmp_path: Path,
) -> None:
    folders = [with_stale_lease(tmp_path / f"{race}") for race in range(RACES)]
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    results = context.SimpleQueue()
    starters = [
        context.Process(target=start_in_each, args=(folders, barrier, seed, results))
        for seed in (1, 2)
    ]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join(RACES * PATIENCE)
    # Without a result ``get`` would wait for ever. Both fit into the pipe of the queue,
    # so that a starter ends before they are read.
    assert [starter.exitcode for starter in starters] == [0, 0]
    (first, first_lasts), (second, second_lasts) = (results.get() for _ in starters)
    holders = [int(one) + int(other) for one, other in zip(first, second, strict=True)]
    assert holders == [1] * RACES
    assert first_lasts and second_lasts
    assert list(tmp_path.rglob("*.aside")) == []


def with_stale_lease(folder: Path) -> Path:
    folder.mkdir()
    lease = folder / "run.lock.lease"
    lease.write_text(json.dumps({"process": 1, "host": "another"}))
    long_ago = time.time() - 100
    os.utime(lease, (long_ago, long_ago))
    return folder


def start_in_each(folders: list[Path], barrier: Any, seed: int, results: Any) -> None:
    """Put into ``results`` for each folder whether this process has got its lease while
    the other one tries, too, and whether all of these last."""
    fcntl.flock = no_locks
    logging.disable(logging.WARNING)
    draw = random.Random(seed)
    for name in ("open", "rename", "unlink"):
        setattr(os, name, late(getattr(os, name), draw))
    held = []
    are_lasting = []
    for folder in folders:
        barrier.wait(PATIENCE)
        lock = started(folder)
        barrier.wait(PATIENCE)
        held.append(lock is not None)
        are_lasting.append(lock is None or lock.lasts)
        barrier.wait(PATIENCE)
        if lock is not None:
            lock.close()
    results.put((held, all(are_lasting)))


def started(folder: Path) -> Lock | None:
    try:
        return Lock(folder / "run.lock")
    except HeldError:
        return None


def late(call: Callable[..., Any], draw: random.Random) -> Callable[..., Any]:
    """A call of the system as it is on a network: the other process may come first."""

    def called(*arguments: Any, **options: Any) -> Any:
        time.sleep(draw.random() / 2000)
        return call(*arguments, **options)

    return called


def no_locks(_descriptor: Any, _kind: int) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
