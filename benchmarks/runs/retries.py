"""How close a run with faults comes to the ideal retry schedule.

The ideal is computed from what the server did to each request: every try takes its
latency on one of the connections, every pause is the documented one and holds no
connection. No schedule of these can be shorter than the work divided by the
connections, nor than the longest chain of one request. What a run takes besides (start,
tables) is that of a run without faults. Figures are medians.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import Figure
from tests.support.cli import mmeval_process, openai
from tests.support.mock_openai_server import MockServer, State
from tests.support.questions import write_questions

GOAL = 1.3
LATENCY, CONNECTIONS, TIMEOUT = 0.05, 16, 1.0
RETRY_AFTER = 0.1

CASES: Mapping[str, Mapping[str, float]] = {
    "25 % 429, 5 % 500": {
        "rate_429": 0.25,
        "rate_500": 0.05,
        "retry_after": RETRY_AFTER,
    },
    "2 % malformed": {"rate_malformed": 0.02},
    "2 % truncated": {"rate_truncated": 0.02},
    "2 % disconnected": {"rate_disconnect": 0.02},
    "2 % hung": {"rate_timeout": 0.02, "hang": 60.0},
    "2 % each of these four": {
        **{
            f"rate_{fault}": 0.02
            for fault in ("malformed", "truncated", "disconnect", "timeout")
        },
        "hang": 60.0,
    },
}


class Watched(State):
    """Remembers what struck each request, try by try; None where it was answered."""

    def __init__(self, settings: Any) -> None:
        self.struck: dict[str, list[str | None]] = defaultdict(list)
        super().__init__(settings)  # type: ignore[no-untyped-call]  # the server carries no types

    def admit(self, path: str, key: str, raw_body: bytes) -> tuple[float, str | None]:
        delay, fault = super().admit(path, key, raw_body)  # type: ignore[no-untyped-call]
        self.struck[key].append(fault)
        return delay, fault


def ideal(struck: Mapping[str, Sequence[str | None]]) -> float:
    """Seconds that no schedule can undercut: every pause at its mean."""
    work, longest = 0.0, 0.0
    for faults in struck.values():
        busy = pauses = 0.0
        tries = refusals = 0
        for fault in faults:
            busy += TIMEOUT if fault == "timeout" else LATENCY
            if fault == "429":
                pauses += 1.125 * max(RETRY_AFTER, 0.05 * 2**refusals)
                refusals += 1
            elif fault is not None:
                pauses += 0.75 * 0.5 * 2**tries
                tries += 1
        work += busy
        longest = max(longest, busy + pauses)
    return max(work / CONNECTIONS, longest)


def run(folder: Path, count: int, faults: Mapping[str, float]) -> tuple[float, float]:
    """Seconds of a whole process, and the ideal of its requests."""
    server = MockServer(latency=LATENCY)
    server.state = Watched(server.state.settings)
    for name, value in faults.items():
        setattr(server.state.settings, name, value)
    with server, tempfile.TemporaryDirectory(dir=folder) as output:
        began = time.perf_counter()
        done = mmeval_process(
            "--tasks",
            "ask",
            "--include_path",
            folder / "tasks",
            "--output_path",
            output,
            "--limit",
            str(count),
            *openai(server, timeout=str(TIMEOUT)),
            "--max_connections",
            str(CONNECTIONS),
            timeout=600,
        )
        took = time.perf_counter() - began
    if done.code:
        raise RuntimeError(f"mmeval ended with {done.code}: {done.err}")
    return took, ideal(server.state.struck)


def figures(quick: bool) -> Iterator[Figure]:
    count, rounds = (300, 1) if quick else (2000, 3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_questions(folder / "tasks", "ask", range(count))
        rest = statistics.median(
            took - least
            for took, least in (run(folder, count, {}) for _ in range(rounds))
        )
        for faults, settings in CASES.items():
            walls = [run(folder, count, settings) for _ in range(rounds)]
            took = statistics.median(wall[0] for wall in walls)
            least = walls[0][1] + rest
            yield Figure(
                f"{faults}, against the ideal",
                took / least,
                GOAL,
                note=f"{took:.1f} s to {least:.1f} s",
            )
