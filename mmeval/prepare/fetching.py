"""Fetching: a source is on this machine, whole; an interruption keeps the files that are."""

from __future__ import annotations

import asyncio
import glob
from functools import partial
from pathlib import Path

from mmeval.dataset import hub
from mmeval.errors import Interrupted
from mmeval.prepare.sources import Source
from mmeval.system.threads import OwnThread

INTERRUPTED = "interrupted; the files that were fetched whole are kept, and the same command goes on with the others"


def fetch(source: Source) -> Path:
    """The folder of a source's files, those fetched that lack. Raises as ``hub.snapshot`` does, and Interrupted, at
    once however large the file is that is under way."""
    work = partial(
        hub.snapshot,
        source.repo,
        source.revision,
        kind=source.kind,
        only=tuple(glob.escape(name) for item in source.only for name in item.split("|") if name),
        into=source.into,
    )
    try:
        return asyncio.run(OwnThread("mmeval-fetch").do(work))
    except KeyboardInterrupt:
        raise Interrupted(INTERRUPTED) from None
