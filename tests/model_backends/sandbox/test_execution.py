"""A program and all of its processes end: with the program, with the call, with the run
that is killed."""

import asyncio
import errno
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mmeval.authoring.testing.media import small_media
from mmeval.media import Media
from mmeval.model_backends.sandbox import SandboxBackend
from mmeval.model_backends.sandbox.runtime import received_descriptors
from mmeval.model_backends.sandbox.watch import measure_below
from tests.support.cli import wait_for
from tests.support.sandbox import asking, bubblewrap, in_other_namespaces, run_code

SLEEPS = "import os, time\nos.fork()\ntime.sleep(1000)"


def test_a_call_that_is_given_up_leaves_no_process() -> None:
    bubblewrap()

    async def give_up() -> None:
        call = asyncio.create_task(SandboxBackend().generate(asking(SLEEPS)))
        while not in_other_namespaces():
            await asyncio.sleep(0.02)
        call.cancel()

    asyncio.run(give_up())
    wait_for(lambda: not in_other_namespaces(), "the end of all processes")


def test_a_sandbox_that_fails_is_an_error_and_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bubblewrap()
    backend = SandboxBackend()
    monkeypatch.setattr(backend._bubblewrap, "_bwrap", "/usr/bin/false")
    response = asyncio.run(backend.generate(asking("print(1)")))
    assert response.error is not None and response.error.kind == "internal"


def test_media_that_have_gone_are_an_error_and_leave_no_descriptor(
    tmp_path: Path,
) -> None:
    bubblewrap()
    backend = SandboxBackend()
    (tmp_path / "a.csv").write_text("x,y")
    known = Media.from_path(tmp_path / "a.csv")
    # its size and type are known, so that the sandbox is the first to miss it
    known.to_json()
    request = asking("print(1)", small_media("image"), known)
    (tmp_path / "a.csv").unlink()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208  a count
    response = asyncio.run(backend.generate(request))
    assert response.error is not None and response.error.kind == "bad_request"
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_a_machine_without_descriptors_is_an_error_and_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bubblewrap()
    backend = SandboxBackend()

    def none_left(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(
        "mmeval.model_backends.sandbox.bubblewrap.subprocess.Popen", none_left
    )
    response = asyncio.run(backend.generate(asking("print(1)")))
    assert response.error is not None and response.error.kind == "internal"


def test_memory_that_processes_share_counts_once() -> None:
    shared = "import os, time\nheld = bytearray(os.urandom(1 << 20) * 100)\n"
    forked = (
        "pids = [os.fork() for _ in range(3)]\nsum(held[::4096])\ntime.sleep(0.5)\n"
        "os._exit(0) if 0 in pids else 0\n"
    )
    assert run_code(f"{shared}{forked}print('done')", memory_mb=300).text == "done\n"


def test_a_thread_whose_first_one_has_ended_is_ended_at_the_limit_of_memory() -> None:
    code = (
        "import ctypes, os, threading, time\n"
        "def grow():\n"
        "    held = [b'x' * (1 << 24) for _ in range(20) if not time.sleep(0.02)]\n"
        "    print('ESCAPED', len(held), flush=True)\n"
        "    time.sleep(1000)\n"
        "threading.Thread(target=grow).start()\n"
        "end = 60 if os.uname().machine == 'x86_64' else 93\n"
        "ctypes.CDLL(None).syscall(end, 0)\n"
    )
    response = run_code(code, memory_mb=128)
    assert response.warnings == ("the program reached the limit of memory: 128 MiB",)


def test_a_program_that_stays_below_its_limit_keeps_its_priority() -> None:
    """Else its time would depend on what else runs on the machine."""
    code = (
        "import os, time\n"
        "held = bytearray(b'1') * (400 << 20)\n"
        "time.sleep(0.1)\n"
        "print(os.nice(0))"
    )
    response = run_code(code, memory_mb=512)
    assert response.text == f"{os.nice(0)}\n"


def test_process_1_is_closed_to_the_program() -> None:
    code = (
        "for name in ('mem', 'maps', 'environ', 'fd/0', 'task/1/mem'):\n"
        "    try:\n"
        "        open(f'/proc/1/{name}', 'rb')\n"
        "    except PermissionError:\n"
        "        print('closed')\n"
    )
    assert run_code(code).text == "closed\n" * 5


def test_process_1_does_not_end_by_a_signal_of_the_program() -> None:
    code = "import os\nfor number in range(1, 32): os.kill(1, number)\nprint('held')"
    assert run_code(code).text == "held\n"


def test_processor_time_of_children_that_nobody_waits_for_is_kept() -> None:
    code = (
        "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "for _ in range(3):\n"
        "    if not (child := os.fork()):\n"
        "        while time.process_time() < 0.1: pass\n"
        "        print('used', flush=True)\n"
        "        time.sleep(1000)\n"
        "    input()\n"
        "    os.kill(child, 9)\n"
    )
    used: dict[tuple[int, str], int] = {}
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdin is not None and parent.stdout is not None
    with parent:
        for _ in range(3):
            parent.stdout.readline()
            seconds = measure_below(parent.pid, 1 << 40, used).seconds
            parent.stdin.write("\n")
            parent.stdin.flush()
    assert seconds >= 0.27


def test_a_program_that_is_ended_at_a_bound_has_no_status_and_keeps_what_it_made() -> (
    None
):
    code = (
        "import time\n"
        "open('output/a.txt', 'w').write('x')\n"
        "print('first')\n"
        "print('x' * 2000, flush=True)\n"
        "time.sleep(1000)"
    )
    response = run_code(code, output_kb=1)
    assert response.text.startswith("first\n")
    assert "limit of output: 1 KiB" in response.text
    assert not any(warning.startswith("exit") for warning in response.warnings)
    assert response.output is not None and len(response.output.media()) == 1


def test_descriptors_with_high_numbers_are_not_inherited_either() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    try:
        code = (
            "import os\nfor one in range(3, 5000):\n    try: print(os.fstat(one))\n   "
            " except OSError: pass\n"
        )
        assert run_code(f"{code}print('done')").text == "done\n"
    finally:
        for one in held:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_folders_that_a_sandbox_hands_out_are_not_inherited_by_the_next() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, Path("/dev/null").open() as file:
        socket.send_fds(theirs, [b"1"], [file.fileno()])
        [descriptor] = received_descriptors(ours)
        try:
            assert not os.get_inheritable(descriptor)
        finally:
            os.close(descriptor)
