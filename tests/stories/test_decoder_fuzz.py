"""Fuzzing: whatever becomes of a medium, its decoder ends in a typed error or a result, and never falls over.

``FUZZ_COUNT=1000 FUZZ_SEED=7 python -m pytest tests/stories/test_decoder_fuzz.py`` looks longer, and elsewhere.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

COUNT = int(os.environ.get("FUZZ_COUNT", "12"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_changed_media_end_in_a_result_or_a_typed_error() -> None:
    command = [sys.executable, "-m", "tests.support.hostile.mutation", str(COUNT), str(SEED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"the process ended ({done.returncode}) at {rows[-1:]}: {done.stderr[-2000:]}"
    assert len(rows) > 30 * COUNT
    assert [row for row in rows if len(row) > 3] == []
