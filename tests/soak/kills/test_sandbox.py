"""What is left of programs in the sandbox."""

import asyncio
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from mmeval.model_backends.sandbox import SandboxBackend
from tests.model_backends.sandbox.test_execution import SLEEPS
from tests.support.cli import wait_for
from tests.support.sandbox import asking, bubblewrap, in_other_namespaces

ROOT = Path(__file__).parents[3]


def test_a_killed_run_leaves_no_process() -> None:
    bubblewrap()
    script = f"from tests.support.sandbox import run_code\nrun_code({SLEEPS!r})\n"
    run = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    try:
        wait_for(lambda: len(in_other_namespaces(run.pid)) > 2, "the program")
        handles = [os.pidfd_open(pid) for pid in in_other_namespaces(run.pid)]
    finally:
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    end = time.monotonic() + 60
    while handles and time.monotonic() < end:
        for handle in select.select(handles, [], [], 1)[0]:
            handles.remove(handle)
            os.close(handle)
    assert handles == []


def test_nothing_is_left_of_many_programs() -> None:
    bubblewrap()
    backend = SandboxBackend()
    asyncio.run(backend.generate(asking("print(1)")))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208  a count

    async def many() -> None:
        await asyncio.gather(
            *(
                backend.generate(asking("open('output/a.txt', 'w').write('x')"))
                for _ in range(12)
            )
        )

    asyncio.run(many())
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    assert in_other_namespaces() == []
