"""Each file of the hostile corpus, and whatever becomes of a valid one, ends in a typed
error or is harmless.

``python -m tests.soak.support.hostile.mutation 1000 7`` changes valid files more often, and
in other ways.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.soak.support.hostile.corpus import corpus
from tests.soak.support.hostile.opening import Opened

SECONDS = 3.0
"""Of a processor, which takes up to half as long again where another program has its
other half."""
BYTES = 200 * 2**20
KINDS = sorted({case.name.partition(":")[0] for case in corpus()})
TYPED = ("decoded", "CorruptMediaError", "MediaLimitError", "UnsupportedMediaError")


def rows_of(module: str, *arguments: str) -> list[list[Any]]:
    """What a process prints; it is its own, as a decoder may crash it."""
    command = [sys.executable, "-m", f"tests.soak.support.hostile.{module}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (
        f"the process ended ({done.returncode}) at {rows[-1:]}: {done.stderr[-2000:]}"
    )
    return rows


@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", KINDS)
def test_every_hostile_file_is_refused_or_harmless_within_its_limits(kind: str) -> None:
    found = [
        Opened(*row)
        for row in rows_of("opening", kind)
        if len(row) == len(Opened._fields)
    ]
    cases = [case for case in corpus() if case.name.startswith(f"{kind}:")]
    assert len(found) == sum(len(case.openers) for case in cases)
    assert [row for row in found if row.outcome not in TYPED] == []
    assert [row for row in found if row.busy > SECONDS or row.grown > BYTES] == []
    assert all(row.message for row in found if row.outcome != "decoded")


@pytest.mark.timeout(0)
def test_changed_media_end_in_a_result_or_a_typed_error() -> None:
    rows = rows_of("mutation", "12", "0")
    assert len(rows) > 30 * 12
    assert [row for row in rows if len(row) > 3] == []
