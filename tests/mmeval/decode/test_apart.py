from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from mmeval import decode
from mmeval.content.media import Media
from mmeval.decode import DEFAULT_LIMITS, apart
from mmeval.decode.apart import Step, steps_apart
from mmeval.decode.limits import DecodeLimits
from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.system.processes import FreshContext
from tests.support import tiny_media as tiny

TEXT = Media.from_bytes(b"words", "a.txt")


def steps(what: str, limits: DecodeLimits = DEFAULT_LIMITS, **options: object) -> Iterator[Step]:
    """The steps of a decoder made for these tests, which stands where the process apart looks for it."""
    return steps_apart(f"mmeval.decode.toy_decoder:{what}", TEXT, b"words", limits, **options)


@pytest.fixture(autouse=True)
def toy_decoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """``mmeval.decode.toy_decoder``: what no real decoder should do."""
    code = """
        import os, pathlib, signal
        from mmeval.decode.apart import Step

        def echo(media, limits, *, times=1):
            return (Step({"number": i}, (media.read(),)) for i in range(times))
        def spin(media, limits):
            return (Step({"x": x}) for x in iter(int, 1) if x)
        def hoard(media, limits, *, size):
            return (Step({"x": len(bytearray(n))}) for n in (size,))
        def die(media, limits):
            return (os.kill(os.getpid(), signal.SIGSEGV) for _ in (1,))
        def write(media, limits, *, path):
            return (Step({"x": pathlib.Path(p).write_text("x")}) for p in (path,))
        def process(media, limits):
            return (Step({"pid": os.getpid(), "environ": dict(os.environ)}) for _ in (1,))
    """
    (tmp_path / "toy_decoder.py").write_text(textwrap.dedent(code))
    start, then = apart._START.split("; from ")
    found = f"import mmeval.decode; mmeval.decode.__path__.append({str(tmp_path)!r})"
    monkeypatch.setattr(apart, "_START", f"{start}; {found}; from {then}")
    apart._crew.dismiss()
    yield
    apart._crew.dismiss()


def pid() -> int:
    (step,) = steps("process")
    return int(step.facts["pid"])


def test_the_steps_of_a_decoder_come_one_after_the_other_from_another_process() -> None:
    assert [(step.facts["number"], step.buffers) for step in steps("echo", times=2)] == [
        (0, (b"words",)),
        (1, (b"words",)),
    ]
    assert pid() != os.getpid()


def test_the_process_lives_on_from_one_medium_to_the_next_and_after_a_stream_that_is_left() -> None:
    first = pid()
    stream = iter(steps("echo", times=9))
    next(stream)
    stream.close()  # type: ignore[attr-defined]  # it is a generator
    assert pid() == first


def test_two_open_streams_have_a_process_each() -> None:
    one, two = steps("process"), steps("process")
    assert next(one).facts["pid"] != next(two).facts["pid"]


def test_a_decoder_that_does_not_end_is_ended_and_the_next_medium_is_decoded() -> None:
    with pytest.raises(MediaLimitError, match=r"needs more than 0\.2 seconds of processor time"):
        list(steps("spin", replace(DEFAULT_LIMITS, max_step_seconds=0.2)))
    assert len(list(steps("echo"))) == 1


def test_a_decoder_has_no_more_memory_than_the_limit() -> None:
    assert len(list(steps("hoard", size=100 * 2**20))) == 1
    with pytest.raises(MediaLimitError, match="more memory than there is"):
        list(steps("hoard", size=200 * 2**20))


def test_a_decoder_that_falls_over_costs_its_medium_only() -> None:
    with pytest.raises(CorruptMediaError, match=r"a\.txt: its decoder fell over \(SIGSEGV\)"):
        list(steps("die"))
    assert len(list(steps("echo"))) == 1


def test_a_decoder_can_write_no_file_and_sees_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with pytest.raises(CorruptMediaError, match="File too large"):
        list(steps("write", path=str(tmp_path / "out")))
    apart._crew.dismiss()
    (step,) = steps("process")
    assert "OPENAI_API_KEY" not in step.facts["environ"]


def test_a_process_that_is_gone_meanwhile_costs_one_medium_at_most() -> None:
    os.kill(pid(), signal.SIGKILL)
    with pytest.raises(CorruptMediaError, match="SIGKILL"):
        list(steps("echo"))
    assert len(list(steps("echo"))) == 1


def test_threads_decode_side_by_side() -> None:
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(decode.document_text(Media.from_bytes(tiny.pdf()))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["Hello"] * 4


def _text() -> str:
    return decode.document_text(Media.from_bytes(tiny.pdf()))


@pytest.mark.parametrize("context", [multiprocessing.get_context("fork"), FreshContext()], ids=["fork", "spawn"])
def test_worker_processes_decode_with_processes_of_their_own(context: multiprocessing.context.SpawnContext) -> None:
    assert _text() == "Hello"  # so that there is one to inherit
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert [job.result(60) for job in [pool.submit(_text) for _ in range(4)]] == ["Hello"] * 4
    assert _text() == "Hello"


def test_a_killed_process_leaves_none_behind_though_a_fork_of_it_lives_and_a_stream_is_open(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, time\nfrom mmeval import decode\nfrom mmeval.decode import apart\n"
        "from mmeval.content.media import Media\n"
        f"pages = decode.pages(Media.from_bytes({tiny.pdf(pages=3)!r}))\nnext(pages)\n"
        "fork = os.fork()\nif not fork:\n    os.close(1)\n    time.sleep(60)\n"
        "[process] = open(f'/proc/self/task/{os.getpid()}/children').read().replace(str(fork), '').split()\n"
        "print(process, fork, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, check=False, timeout=60)
    process, fork = done.stdout.split()
    end = time.monotonic() + 20
    while Path("/proc", process).exists() and time.monotonic() < end:
        time.sleep(0.05)
    os.kill(int(fork), signal.SIGKILL)
    assert not Path("/proc", process).exists()


def test_a_script_without_a_guard_is_not_run_again_and_leaves_no_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from mmeval import decode\nfrom mmeval.decode import apart\nfrom mmeval.content.media import Media\n"
        f"print('begun', decode.document_text(Media.from_bytes({tiny.pdf()!r})), apart._crew._idle[0]._process.pid)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=60)
    begun, text, process = done.stdout.split()
    assert (begun, text, done.stderr) == ("begun", "Hello", "")
    assert not Path("/proc", process).exists()
