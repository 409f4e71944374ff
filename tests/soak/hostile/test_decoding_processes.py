"""Processes that decode end with the process that has started them, however that one
ends."""

import os
import select
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from mmeval.media import decode
from mmeval.media.media import Media
from mmeval.system.processes import FreshContext
from tests.support import tiny_media as tiny


def _text() -> str:
    return decode.document_text(Media.from_bytes(tiny.pdf()))


def test_fresh_worker_processes_decode_with_processes_of_their_own() -> None:
    assert _text() == "Hello"
    with ProcessPoolExecutor(2, mp_context=FreshContext()) as pool:
        assert [job.result() for job in [pool.submit(_text) for _ in range(4)]] == [
            "Hello"
        ] * 4
    assert _text() == "Hello"


def test_a_killed_process_leaves_none_behind_though_a_fork_of_it_lives_and_a_stream_is_open(
    tmp_path: Path,
) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal\nfrom mmeval.media import decode\nfrom mmeval.media.media "
        "import Media\n"
        f"pages = decode.pages(Media.from_bytes({tiny.pdf(pages=3)!r}))\nnext(pages)\n"
        "fork = os.fork()\nif not fork:\n    os.close(1)\n    signal.pause()\n"
        "[process] = "
        "open(f'/proc/self/task/{os.getpid()}/children').read().replace(str(fork), "
        "'').split()\n"
        "print(process, fork, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, check=False
    )
    process, fork = map(int, done.stdout.split())
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        handle = -1
    # readable once it has ended
    gone = handle < 0 or bool(select.select([handle], [], [], 60)[0])
    os.kill(fork, signal.SIGKILL)
    assert gone
