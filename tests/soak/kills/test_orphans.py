"""Processes whose parent is killed, right after it has started them or later: each
ends, and holds no stream open."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.cli import DEADLINE, ROOT, environment

SETUP = "ScoringSetup([Orphaned()], 300.0, 'auto')"
JOB = (
    "WorkerJob('w', 'toy', {'x': Orphaned()}, '', here, here / 'j', here / 'm', here "
    "/ 'log', 1)"
)
CHILDREN: Mapping[str, str] = {
    "forked to score": "os.register_at_fork(after_in_child=orphaned)\n"
    "ScorePool(ScoringSetup([], 300.0, 'auto'), 2, fork=True)._pool.submit(is_ready).result()",
    "spawned to score": f"ScorePool({SETUP}, 1)._pool.submit(is_ready).result()",
    "in native code": "ScorePool(ScoringSetup([], 300.0, 'auto'), "
    "1)._pool.submit(busy_orphan).result()",
    "worker of a model": f"asyncio.run(WorkerProcess({JOB}).start())",
    "decoder": "apart._START = f'import sys; sys.path.append({root!r}); from "
    "tests.soak.support.orphaned import orphaned;"
    " orphaned(); ' + apart._START\nnext(decode.pages(Media.from_bytes(tiny.pdf())))",
}
"""How a process is started that kills its parent, mostly before it can have found out
who that is."""
SCRIPT = """
import asyncio, os, sys
from pathlib import Path
from mmeval.media import decode
from mmeval.broker.worker import WorkerProcess
from mmeval.broker.worker_service import WorkerJob
from mmeval.media.media import Media
from mmeval.media.decode import apart
from mmeval.metric.scoring.pool import ScorePool
from mmeval.metric.scoring.worker import ScoringSetup, is_ready
from tests.support import tiny_media as tiny
from tests.soak.support.orphaned import Orphaned, busy_orphan, orphaned
here, root = Path.cwd(), sys.argv[1]
(here / "parent").write_text(str(os.getpid()))
"""


def ended(process: int) -> bool:
    """Whether a process ends that is no child of this one."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    with os.fdopen(handle):
        # readable once it has ended
        return bool(select.select([handle], [], [], DEADLINE)[0])


@pytest.mark.parametrize("child", CHILDREN)
def test_a_process_ends_with_its_parent(child: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", SCRIPT + CHILDREN[child], str(ROOT)]
    with subprocess.Popen(
        words,
        env=environment(PYTHONPATH=str(ROOT)),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as parent:
        try:
            # to the end of the stream, which each of its processes holds
            parent.communicate(timeout=DEADLINE)
            assert parent.returncode == -signal.SIGKILL
            left = [
                int(number) for number in (tmp_path / "orphans").read_text().split()
            ]
            assert left and all(map(ended, left))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)
