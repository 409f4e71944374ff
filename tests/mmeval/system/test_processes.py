import os
import signal
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path

import pytest

from mmeval.system.processes import CopyContext, FreshContext, ending, settle_signals
from mmeval.system.signals import ENDING
from tests.support.cli import DEADLINE

SCRIPT = """
import sys
from concurrent.futures import ProcessPoolExecutor
from mmeval.system.processes import FreshContext

print("the script runs")
main = sys.modules["__main__"]
with ProcessPoolExecutor(1, mp_context=FreshContext()) as pool:
    print(pool.submit(abs, -3).result(), sys.modules["__main__"] is main)
"""
"""A script without a main guard: a usual spawned process would run it again, and die of
it."""


def test_a_fresh_process_does_not_run_the_script_again(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert (done.stdout, done.stderr) == ("the script runs\n3 True\n", "")


@pytest.mark.parametrize("context", [CopyContext(), FreshContext()])
def test_no_signal_ends_a_process_before_it_has_settled_and_then_sigterm_alone_does(
    context: BaseContext,
) -> None:
    ours, theirs = Pipe()
    process = context.Process(target=_signalled, args=(theirs,))  # type: ignore[attr-defined]  # each has one
    process.start()
    assert ours.recv() == [signal.SIG_IGN, signal.SIG_DFL, signal.SIG_IGN]
    process.join()
    assert process.exitcode == -signal.SIGTERM
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []).isdisjoint(ENDING)


def _signalled(line: Connection) -> None:
    for number in ENDING:
        os.kill(os.getpid(), number)
    # the one that waits, which would end this process when it settles
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    settle_signals()
    line.send([signal.getsignal(number) for number in ENDING])
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-9, ("SIGKILL", "memory")),
        (-11, ("SIGSEGV",)),
        (-99, ("signal 99",)),
        (3, ("status 3",)),
        (None, ("lost",)),
    ],
)
def test_the_end_of_a_process_has_its_signal_or_its_status(
    code: int | None, words: tuple[str, ...]
) -> None:
    assert all(word in ending(code) for word in words)
    assert ("memory" in ending(code)) is (code == -9)
