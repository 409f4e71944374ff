import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import CorruptMediaError, MediaLimitError, UnsupportedMediaError
from mmeval.media import decode
from mmeval.media.decode import DEFAULT_LIMITS, apart
from mmeval.media.decode.apart import Step, steps_apart
from mmeval.media.decode.limits import DecodeLimits
from mmeval.media.media import Media
from tests.support import tiny_media as tiny

TEXT = Media.from_bytes(b"words", "a.txt")


def steps(
    name: str, limits: DecodeLimits = DEFAULT_LIMITS, **options: object
) -> Iterator[Step]:
    """The steps of the decoder ``toy_decoder`` of these tests."""
    return steps_apart(
        f"mmeval.media.decode.toy_decoder:{name}", TEXT, b"words", limits, **options
    )


@pytest.fixture(autouse=True)
def toy_decoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """``mmeval.media.decode.toy_decoder``: a decoder that misbehaves."""
    code = """
        import os, pathlib, signal
        from mmeval.media.decode.apart import Step

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
        def locked(media, limits):
            raise NotImplementedError("its password is not known")
            yield
        def absent(media, limits):
            import no_such_library
        def process(media, limits):
            return (Step({"pid": os.getpid(), "environ": dict(os.environ)}) for _ in (1,))
    """
    (tmp_path / "toy_decoder.py").write_text(textwrap.dedent(code))
    start, then = apart._START.split("; from ")
    add_path = f"import mmeval.media.decode; mmeval.media.decode.__path__.append({str(tmp_path)!r})"
    monkeypatch.setattr(apart, "_START", f"{start}; {add_path}; from {then}")
    apart._crew.dismiss()
    yield
    apart._crew.dismiss()


def pid() -> int:
    (step,) = steps("process")
    return int(step.facts["pid"])


def test_the_steps_of_a_decoder_come_from_another_process_that_sees_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert [*steps("echo", times=2)] == [
        ({"number": 0}, (b"words",)),
        ({"number": 1}, (b"words",)),
    ]
    (step,), other_steps = steps("process"), steps("process")
    assert "OPENAI_API_KEY" not in step.facts["environ"]
    assert step.facts["pid"] == next(other_steps).facts["pid"] != os.getpid()
    assert next(steps("process")).facts["pid"] != step.facts["pid"], (
        "two open streams have a process each"
    )


def test_the_process_lives_on_from_one_medium_to_the_next_until_it_is_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = pid()
    stream = iter(steps("echo", times=9))
    next(stream)
    stream.close()  # type: ignore[attr-defined]  # it is a generator
    assert pid() == first
    monkeypatch.setattr(apart, "_MOST_MEDIA", 1)
    second = pid()
    monkeypatch.setattr(apart, "_MOST_MEDIA", 9)
    monkeypatch.setattr(apart, "_FRESH_SECONDS", -1.0)
    assert len({first, second, pid()}) == 3


@pytest.mark.parametrize(
    ("decoder", "limits", "options", "error", "words"),
    [
        (
            "spin",
            replace(DEFAULT_LIMITS, max_step_seconds=0.2),
            {},
            MediaLimitError,
            r"0\.2 seconds",
        ),
        ("hoard", DEFAULT_LIMITS, {"size": 200 * 2**20}, MediaLimitError, "memory"),
        ("die", DEFAULT_LIMITS, {}, MediaLimitError, r"a\.txt: .*SIGSEGV"),
        ("write", DEFAULT_LIMITS, {"path": "out"}, CorruptMediaError, "File too large"),
    ],
    ids=["time", "memory", "crash", "a file"],
)
def test_a_decoder_that_goes_too_far_is_ended_and_the_next_medium_is_decoded(
    decoder: str,
    limits: DecodeLimits,
    options: dict[str, Any],
    error: type[Exception],
    words: str,
    tmp_path: Path,
) -> None:
    if "path" in options:
        options = {"path": str(tmp_path / options["path"])}
    with pytest.raises(error, match=words):
        list(steps(decoder, limits, **options))
    assert len(list(steps("hoard", size=100 * 2**20))) == 1


@pytest.mark.parametrize(
    ("decoder", "words"), [("locked", "password"), ("absent", "does not run")]
)
def test_what_the_library_cannot_do_is_not_the_fault_of_the_medium(
    decoder: str, words: str
) -> None:
    with pytest.raises(UnsupportedMediaError, match=words):
        list(steps(decoder))


def test_a_process_that_is_gone_costs_one_medium_and_threads_and_workers_have_their_own() -> (
    None
):
    os.kill(pid(), signal.SIGKILL)
    with pytest.raises(MediaLimitError, match="SIGKILL"):
        list(steps("echo"))
    assert len(list(steps("echo"))) == 1
    text = partial(decode.document_text, Media.from_bytes(tiny.pdf()))
    with ThreadPoolExecutor(3) as pool:
        assert [job.result() for job in [pool.submit(text) for _ in range(3)]] == [
            "Hello"
        ] * 3
    with ProcessPoolExecutor(
        2, mp_context=multiprocessing.get_context("fork")
    ) as forks:
        assert [job.result() for job in [forks.submit(text) for _ in range(2)]] == [
            "Hello"
        ] * 2
    assert text() == "Hello"


def test_a_script_without_a_guard_is_not_run_again_and_leaves_no_process(
    tmp_path: Path,
) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from mmeval.media import decode\nfrom mmeval.media.decode import apart\nfrom "
        "mmeval.media.media import Media\n"
        f"print('begun', decode.document_text(Media.from_bytes({tiny.pdf()!r})), "
        "apart._crew._idle[0]._process.pid)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True
    )
    begun, text, process = done.stdout.split()
    assert (begun, text, done.stderr) == ("begun", "Hello", "")
    assert not Path("/proc", process).exists()
