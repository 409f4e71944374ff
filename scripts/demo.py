"""What `make demo` shows: the right answers and a model of noise on nine tasks, and one
answer with its media.

`python -m scripts.demo` runs it in the environment of its Python. The log of a run is
NAME.log in the folder of that environment, and is shown where the run fails.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import soundfile
from PIL import Image

TASKS = "unim_hard,mmmg_audio"
RUNS = Path("runs")
SHOWN = "natural_science/programming/1"
"""The sample whose answer is shown."""


def run(title: str, name: str, *flags: str) -> str:
    """Run the tasks and print a line; return what the run prints. Ends the demo where
    the run fails."""
    print(f"{title:46}", end="", flush=True)
    began, log = time.monotonic(), Path(sys.prefix, f"{name}.log")
    command = [
        sys.executable,
        "-m",
        "mmeval",
        "--tasks",
        TASKS,
        "--data",
        "bundled",
        *flags,
    ]
    with log.open("w") as file:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=file, text=True, check=False
        )
    if done.returncode:
        print(f"\n{done.stdout}{log.read_text()}")
        sys.exit(done.returncode)
    print(f"{time.monotonic() - began:.0f} s", flush=True)
    return done.stdout


def answer(folder: Path) -> str:
    """The answer of one sample, its picture and its sound at their places."""
    file = max(
        folder.glob("samples_unim_hard_*.jsonl"), key=lambda path: path.stat().st_mtime
    )
    rows = (json.loads(line) for line in file.read_text("utf-8").splitlines())
    parts = next(row["parts"][0] for row in rows if row["doc"]["id"] == SHOWN)
    text = f"tiny answered to {SHOWN}: " + " ".join(
        " ".join(_shown(part) for part in parts).split()
    )
    width = min(80, shutil.get_terminal_size((80, 24)).columns)
    return textwrap.fill(text, width, subsequent_indent="   ", break_on_hyphens=False)


def _shown(part: dict[str, object]) -> str:
    media = part.get("media")
    if not isinstance(media, dict):
        return str(part["text"])
    file = Path(str(media["path"]))
    if part["type"] == "image":
        width, height = Image.open(file).size
        return f"[picture, {width} x {height}]"
    if part["type"] == "audio":
        return f"[sound, {soundfile.info(file).duration:.1f} s]"
    return f"[{part['type']}]"


def main() -> None:
    run("1 of 2  reference: the right answers", "reference", "--model", "reference")
    tiny = ("--model", "hf", "--model_args", "pretrained=tiny", "--log_samples")
    baseline = ("--baseline", str(RUNS / "reference" / "default"))
    table = run(
        "2 of 2  tiny: noise, its scores mean nothing", "tiny", *tiny, *baseline
    )
    print(f"\n{answer(RUNS / 'tiny' / 'default')}\n\n{table}", end="")


if __name__ == "__main__":
    main()
