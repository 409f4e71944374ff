import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_a_reader_of_stderr_that_has_gone_does_not_hide_the_exit_code() -> None:
    script = (
        "import sys; from mmeval.report.terminal import write_line; [write_line('x') "
        "for _ in 'ab']; sys.exit(3)"
    )
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-c", script], stderr=pipe, cwd=ROOT, check=False
        )
    assert done.returncode == 3
