"""Hostile media: each file of the corpus is refused with a typed error, or harmless, within two seconds and 200 MiB.

``python -m tests.stories.test_hostile_media`` prints what each one costs.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.hostile.corpus import corpus
from tests.support.hostile.opening import Opened

SECONDS = 3.0
"""Of a processor, which takes up to half as long again where another program has its other half."""
CLOCK_SECONDS = 20.0
"""By the clock: a machine may be busy, but nothing may wait for ever."""
BYTES = 200 * 2**20
KINDS = sorted({case.name.partition(":")[0] for case in corpus()})
TYPED = ("decoded", "CorruptMediaError", "MediaLimitError")


def opened(kind: str) -> list[Opened]:
    """What came of all files of a kind, opened in a process of their own."""
    names = [case.name for case in corpus() if case.name.startswith(f"{kind}:")]
    command = [sys.executable, "-m", "tests.support.hostile.opening", *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"the process ended ({done.returncode}) at {rows[-1:]}: {done.stderr[-2000:]}"
    return [Opened(*row) for row in rows if len(row) == len(Opened._fields)]


def test_the_corpus_is_large_and_its_names_differ() -> None:
    names = [case.name for case in corpus()]

    assert len(names) >= 440
    assert len(set(names)) == len(names)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_hostile_file_is_refused_or_harmless_within_its_limits(kind: str) -> None:
    found = opened(kind)

    assert [row for row in found if row.outcome not in TYPED] == []
    assert [row for row in found if row.busy > SECONDS or row.seconds > CLOCK_SECONDS] == []
    assert [row for row in found if row.grown > BYTES] == []
    assert all(row.said for row in found if row.outcome != "decoded")


def main() -> None:
    print("| file | opened as | outcome | seconds | busy | MiB |\n|---|---|---|---:|---:|---:|")
    for kind in KINDS:
        for row in opened(kind):
            cost = f"{row.seconds:.2f} | {row.busy:.2f} | {row.grown / 2**20:.0f}"
            print(f"| {row.name} | {row.opener} | {row.outcome} | {cost} |", flush=True)


if __name__ == "__main__":
    main()
