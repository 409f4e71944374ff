"""Two processes start at the same moment where a dead one has left its lease."""

import errno
import fcntl
import logging
import multiprocessing
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmeval.store import lock as module
from mmeval.store.lock import Lock, LockHeldError
from tests.mmeval.store.test_lock import ended_process, lease_of

LEASE_SECONDS = 0.5
BEAT_SECONDS = 0.1
PATIENCE = 60.0
"""Seconds after which a starter that does not come is a fault."""


@pytest.mark.parametrize(
    ("host", "races"),
    [("", 200), ("another", 20)],
    ids=["a dead process of this host", "another host"],
)
def test_of_two_starters_on_a_lease_of_a_dead_process_one_holds_the_run(
    host: str, races: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEASE_SECONDS", LEASE_SECONDS)
    dead = ended_process()
    folders = [tmp_path / f"{race}" for race in range(races)]
    for folder in folders:
        folder.mkdir()
        lease_of(folder, process=dead, host=host)
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    results = context.Queue()
    starters = [
        context.Process(target=start_in_each, args=(folders, barrier, seed, results))
        for seed in (1, 2)
    ]
    for starter in starters:
        starter.start()
    (first, first_lasts), (second, second_lasts) = (
        results.get(timeout=PATIENCE) for _ in starters
    )
    for starter in starters:
        starter.join(PATIENCE)
    holders = [sum(pair) for pair in zip(first, second, strict=True)]
    assert holders == [1] * races
    assert first_lasts and second_lasts


def start_in_each(folders: list[Path], barrier: Any, seed: int, results: Any) -> None:
    """Put into ``results`` for each folder whether this process has got its lock while
    the other one tries, too, and whether all of these last."""
    fcntl.flock = no_locks
    module.LEASE_SECONDS = LEASE_SECONDS
    module.BEAT_SECONDS = BEAT_SECONDS
    logging.disable(logging.WARNING)
    draw = random.Random(seed)
    for name in ("open", "rename", "unlink", "lstat"):
        setattr(os, name, late(getattr(os, name), draw))
    are_held = []
    are_lasting = []
    for folder in folders:
        barrier.wait(PATIENCE)
        lock = started(folder)
        barrier.wait(PATIENCE)
        are_held.append(lock is not None)
        are_lasting.append(lock is None or lock.is_held)
        barrier.wait(PATIENCE)
        if lock is not None:
            lock.close()
    results.put((are_held, all(are_lasting)))


def started(folder: Path) -> Lock | None:
    try:
        return Lock(folder / "run.lock")
    except LockHeldError:
        return None


def late(call: Callable[..., Any], draw: random.Random) -> Callable[..., Any]:
    """A call of the system as it is on a network: the other process may come first."""

    def called(*arguments: Any, **options: Any) -> Any:
        time.sleep(draw.random() / 2000)
        return call(*arguments, **options)

    return called


def no_locks(_descriptor: Any, _kind: int) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
