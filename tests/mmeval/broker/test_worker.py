from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from mmeval.broker.worker import _ended, _no_interrupt


def test_ctrl_c_does_not_reach_a_process_that_is_just_started() -> None:
    program = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with _no_interrupt():
        said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (-9, "was killed by SIGKILL (often because memory ran out)"),
        (-11, "was killed by SIGSEGV"),
        (-99, "was killed by signal 99"),
        (3, "ended by itself with exit status 3"),
        (None, "was lost"),
    ],
)
def test_the_end_of_a_process_is_told_in_words(code: int | None, said: str) -> None:
    assert _ended(code) == said
