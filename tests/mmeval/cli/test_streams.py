import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_a_reader_that_has_gone_does_not_hide_the_exit_code() -> None:
    script = (
        "import sys; from mmeval.cli.streams import print_text; print_text('table'); print_text('more'); sys.exit(3)"
    )
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)

    assert (done.returncode, done.stderr) == (3, "")
