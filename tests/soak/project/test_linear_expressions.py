"""No regular expression of the product needs more than a moment for a line of 1 MiB,
whoever wrote it."""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HUGE_SECONDS = 900
"""All lines take some minutes; a single line that takes time in proportion to the
square of its length takes hours."""


@pytest.mark.timeout(2 * HUGE_SECONDS)
def test_every_expression_of_the_product_is_linear_over_a_line_of_one_mebibyte(
    tmp_path: Path,
) -> None:
    begun = tmp_path / "begun"
    script = [sys.executable, "-m", "tests.soak.support.expressions"]
    status: int | None = None
    # the last name in the file is the expression that did not end
    with begun.open("wb") as file, contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(script, cwd=ROOT, stdout=file, timeout=HUGE_SECONDS)
        status = done.returncode
    assert begun.read_text().splitlines()[-1] == "all of them"
    assert status == 0
