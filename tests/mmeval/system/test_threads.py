import asyncio
import subprocess
import sys
import threading

import pytest

from mmeval.system.threads import OwnThread, any_at_work


async def test_what_a_work_raises_is_an_error_that_a_loop_survives() -> None:
    thread = OwnThread("own")
    raised: dict[BaseException, str] = {
        ValueError("odd"): "ValueError('odd')",
        KeyboardInterrupt("rude"): "RuntimeError('KeyboardInterrupt: rude')",
        SystemExit(3): "RuntimeError('SystemExit: 3')",
        StopIteration("odd"): "RuntimeError('StopIteration: odd')",
    }
    for error, expected in raised.items():

        def fails(error: BaseException = error) -> None:
            raise error

        with pytest.raises((ValueError, RuntimeError)) as caught:
            await thread.do(fails)
        assert (repr(caught.value), await thread.do(lambda: "still there")) == (
            expected,
            "still there",
        )
    thread.end()


async def test_it_is_known_whether_something_is_at_work() -> None:
    has_started, gate = threading.Event(), threading.Event()
    thread = OwnThread("own")

    def waiting() -> None:
        has_started.set()
        gate.wait(60)

    work = asyncio.ensure_future(thread.do(waiting))
    await asyncio.sleep(0)
    has_started.wait(60)
    busy = any_at_work()
    gate.set()
    await work
    thread.end()
    assert thread._thread is not None
    thread._thread.join()
    assert (busy, any_at_work()) == (True, False)


def test_a_process_does_not_wait_for_a_thread_of_ours() -> None:
    program = (
        "import asyncio, threading\n"
        "from mmeval.system.threads import OwnThread\n"
        "begun = threading.Event()\n"
        "async def main():\n"
        "    asyncio.ensure_future(OwnThread('own').do(lambda: (begun.set(), "
        "threading.Event().wait())))\n"
        "    await asyncio.sleep(0)\n"
        "    begun.wait()\n"
        "asyncio.run(main())\n"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", program], timeout=120, check=False
        ).returncode
        == 0
    )
