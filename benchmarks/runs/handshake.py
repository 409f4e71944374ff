"""What a handshake costs: ten questions about pictures with and without it, in turns.

The server reads the pictures and answers after 50 ms.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from benchmarks.measuring import Figure, seconds
from tests.support.able_server import AbleServer

SAMPLES = 10
LATENCY = 0.05  # seconds
MOST_SECONDS = 0.5
"""The goal: the run is not longer by more than this."""
TASK = """task: pictures
dataset_path: data
metric_list:
  - metric: exact_match
metadata: {version: 1.0}
"""


class SlowServer(AbleServer):
    """Answers after ``LATENCY`` seconds."""

    def answer(self, body: dict[str, object]) -> tuple[int, dict[str, object]]:
        time.sleep(LATENCY)
        return super().answer(body)


def figures(quick: bool) -> Iterator[Figure]:
    pairs = 1 if quick else 7
    with tempfile.TemporaryDirectory() as name, SlowServer() as server:
        folder = Path(name)
        _write_task(folder)
        # the first run compiles Python files, which the others do not
        _run(folder, server.url, probe=False)
        differences = []
        for _ in range(pairs):
            without = seconds(lambda: _run(folder, server.url, probe=False))
            with_it = seconds(lambda: _run(folder, server.url, probe=True))
            differences.append(with_it - without)
        calls = server.handshakes / pairs
    yield Figure(
        "a run of 10 samples is longer by",
        statistics.median(differences),
        MOST_SECONDS,
        "s",
        note=f"{calls:g} calls a handshake",
    )


def _write_task(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "pictures.yaml").write_text(TASK)
    rows = []
    for number in range(SAMPLES):
        file = f"{number}.png"
        colour = (20 * number, 80, 120)
        picture = Image.new("RGB", (256, 256), colour)
        picture.save(folder / "data" / file)
        question = f"Question {number}."
        row = {
            "id": str(number),
            "input": [
                {"type": "image", "path": file},
                {"type": "text", "text": question},
            ],
            "reference": "a",
        }
        rows.append(json.dumps(row))
    (folder / "data" / "test.jsonl").write_text("\n".join(rows) + "\n")


def _run(folder: Path, url: str, *, probe: bool) -> None:
    """Runs the task in a process, without anything of an earlier run."""
    for name in ("runs", "cache"):
        shutil.rmtree(folder / name, ignore_errors=True)
    task = str(folder / "pictures.yaml")
    command = [sys.executable, "-m", "mmeval", "--tasks", task]
    command += ["--model", "openai"]
    command += ["--model_args", f"model=m,base_url={url}"]
    command += ["--output_path", str(folder / "runs")]
    command += ["--report", "false"]
    command += ["--probe", str(probe).lower()]
    environment = {**os.environ, "MMEVAL_CACHE_DIR": str(folder / "cache")}
    subprocess.run(command, env=environment, check=True, capture_output=True)
