"""Put what `make demo` prints, and the first screen of its page, into README: `python
-m scripts.make_readme`.

It runs the demo in a copy of the checkout, and takes the environment of the Python that
runs it, with the extra `hf`, and a Chromium on PATH.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.soak.support.chromium import ARGUMENTS, executable
from tests.soak.support.fresh_environment import copy_of_tree

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "pictures" / "page.png"
COMMAND = "$ make demo\n"


def demo(folder: Path) -> str:
    """What `make demo` prints, the environment being there: its stamp counts as new,
    whatever the times of files."""
    copy_of_tree(folder)
    command = [
        "make",
        "--old-file",
        f"{sys.prefix}/demo.stamp",
        "demo",
        f"VENV={sys.prefix}",
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout.replace(f"{sys.prefix}/", ".venv/")


def updated(page: str, printed: str) -> str:
    """README with the output below its command."""
    head, command, rest = page.partition(COMMAND)
    following = re.search(r"^(?:\$|```)", rest, re.MULTILINE)
    assert command and following, "README shows no block with `make demo`"
    return f"{head}{command}{printed}{rest[following.start() :]}"


def picture(index: Path) -> bytes:
    """The first screen of a page in 128 colours, as a PNG."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable(), args=list(ARGUMENTS)
        )
        page = browser.new_page(
            viewport={"width": 1280, "height": 800}, color_scheme="light"
        )
        page.goto(index.as_uri(), wait_until="networkidle")
        shot = page.screenshot()
        browser.close()
    made = io.BytesIO()
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(128).save(
        made, "PNG", optimize=True
    )
    return made.getvalue()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        README.write_text(
            updated(README.read_text("utf-8"), demo(Path(folder))), "utf-8"
        )
        PICTURE.write_bytes(
            picture(Path(folder, "runs", "tiny", "default", "report", "index.html"))
        )


if __name__ == "__main__":
    main()
