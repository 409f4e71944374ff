"""What a program in the sandbox costs, whether many use the whole machine, and that
nothing of them is left.

Beside the bare interpreter (without packages, as inside), a program pays for the
namespaces, for the program in front that sets its limits, and for the look at what it
leaves. Programs that compute are compared with the same ones by as many bare
interpreters at a time, in turns. The figures are those of a machine that does nothing
else.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.measuring import Figure, seconds
from mmeval.model_backends.sandbox import SandboxBackend
from mmeval.model_backends.sandbox.interpreter import interpreter
from mmeval.records import Request, user
from tests.support.hostile_code import in_other_namespaces

PRINTS = "print(1)"
WORKS = (
    "import time\nend = time.process_time() + 1\nwhile time.process_time() < end: "
    "pass\nprint(1)"
)
"""A second of a processor."""
MOST_MS, LEAST_SHARE, WAITING, TURNS = 60.0, 0.9, 64, 4


def bare(code: str) -> None:
    python = interpreter("", packages=False)
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(code)
        file.flush()
        command = [python.command, "-S", "-B", "-u", file.name]
        # in a session of its own, as in the sandbox: where others compute, the kernel
        # shares out by sessions
        subprocess.run(
            command, stdout=subprocess.DEVNULL, check=True, start_new_session=True
        )


def held(backend: SandboxBackend, code: str, count: int, at_a_time: int) -> None:
    async def one(turn: asyncio.Semaphore) -> None:
        async with turn:
            response = await backend.generate(Request((user(f"```\n{code}\n```"),)))
        if response.text != "1\n":
            raise RuntimeError(str(response))

    async def all_() -> None:
        turn = asyncio.Semaphore(at_a_time)
        await asyncio.gather(*(one(turn) for _ in range(count)))

    asyncio.run(all_())


def figures(quick: bool) -> Iterator[Figure]:
    backend = SandboxBackend()
    rounds, waiting, many = (10, 8, 50) if quick else (50, WAITING, 1000)
    held(backend, PRINTS, 1, 1)
    more = [
        seconds(lambda: held(backend, PRINTS, 1, 1)) - seconds(lambda: bare(PRINTS))
        for _ in range(rounds)
    ]
    yield Figure(
        "print(1), beyond the bare interpreter",
        1000 * statistics.median(more),
        MOST_MS,
        " ms",
    )

    width = backend.usual_connections
    alone = together = 0.0
    with ThreadPoolExecutor(width) as pool:
        for _ in range(TURNS):
            alone += seconds(lambda: [*pool.map(bare, [WORKS] * (waiting // TURNS))])
            together += seconds(lambda: held(backend, WORKS, waiting // TURNS, width))
    note = f"{waiting} programs, {width} at a time, {together:.1f} s to {alone:.1f} s"
    yield Figure(
        "share of the machine that programs get",
        alone / together,
        LEAST_SHARE,
        at_least=True,
        note=note,
    )

    before = left()
    began = time.perf_counter()
    held(backend, PRINTS, many, width)
    took = time.perf_counter() - began
    after = left()
    for name, unit in (
        ("processes", ""),
        ("descriptors", ""),
        ("files", ""),
        ("memory", " MiB"),
    ):
        goal = 8.0 if name == "memory" else 0.0
        note = f"{many} programs in {took:.0f} s"
        yield Figure(f"{name} left", after[name] - before[name], goal, unit, note=note)


def left() -> dict[str, float]:
    """What this process and its sandboxes hold."""
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf(
        "SC_PAGE_SIZE"
    )
    return {
        "processes": len(in_other_namespaces()),
        "descriptors": len([*Path("/proc/self/fd").iterdir()]),
        "files": len([*Path(tempfile.gettempdir()).glob("mmeval-sandbox-*")]),
        "memory": resident / 2**20,
    }
