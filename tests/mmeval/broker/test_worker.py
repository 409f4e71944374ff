from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from mmeval.broker.worker import END_SECONDS, _ended, _no_interrupt


def test_ctrl_c_does_not_reach_a_process_that_is_just_started() -> None:
    program = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with _no_interrupt():
        printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert (printed, signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])) == ("True\n", False)


@pytest.mark.parametrize(
    ("code", "words"),
    [(-9, ("SIGKILL", "memory")), (-11, ("SIGSEGV",)), (-99, ("signal 99",)), (3, ("status 3",)), (None, ("lost",))],
)
def test_the_end_of_a_process_has_its_signal_or_its_status(code: int | None, words: tuple[str, ...]) -> None:
    assert all(word in _ended(code) for word in words)
    assert (("memory" in _ended(code)) is (code == -9), END_SECONDS) == (True, 5)
