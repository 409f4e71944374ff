from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from mmeval.system.threads import OwnThread, any_at_work


async def test_works_are_done_one_after_the_other_in_one_thread() -> None:
    thread = OwnThread("own")
    found = await asyncio.gather(*(thread.do(threading.get_ident) for _ in range(3)))
    thread.end()
    assert len(set(found)) == 1
    assert threading.get_ident() not in found


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("odd"), "ValueError('odd')"),
        (KeyboardInterrupt("rude"), "RuntimeError('KeyboardInterrupt: rude')"),
        (SystemExit(3), "RuntimeError('SystemExit: 3')"),
        (StopIteration("odd"), "RuntimeError('StopIteration: odd')"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_a_work_raises_reaches_who_waits_in_a_form_that_a_loop_survives(
    error: BaseException, said: str
) -> None:
    def fails() -> None:
        raise error

    thread = OwnThread("own")
    with pytest.raises((ValueError, RuntimeError)) as caught:
        await thread.do(fails)
    assert repr(caught.value) == said
    assert await thread.do(lambda: "still there") == "still there"
    thread.end()


async def test_it_is_known_whether_something_is_at_work() -> None:
    gate = threading.Event()
    thread = OwnThread("own")
    work = asyncio.ensure_future(thread.do(lambda: gate.wait(5)))
    await asyncio.sleep(0.05)
    busy = any_at_work()
    gate.set()
    await work
    await asyncio.sleep(0.05)
    assert (busy, any_at_work()) == (True, False)


def test_a_process_does_not_wait_for_a_thread_of_ours() -> None:
    program = (
        "import asyncio, time\n"
        "from mmeval.system.threads import OwnThread\n"
        "async def main():\n"
        "    asyncio.ensure_future(OwnThread('own').do(lambda: time.sleep(60)))\n"
        "    await asyncio.sleep(0.1)\n"
        "asyncio.run(main())\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=20, check=False).returncode == 0
