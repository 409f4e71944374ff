"""What a model in a process of its own costs: its rows against the same class in this
process, and its media.

The worker is the file of ``mmeval init worker`` with a model that sleeps for 20 ms a
batch and repeats what it is asked. Rates are those of the answers after the first
batches, by the journal's own times.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import ROOT, Figure
from mmeval.backend import Capabilities
from mmeval.content import Media, text_part
from mmeval.model_backends.process import ProcessBackend
from mmeval.records import Request, Response, answered, message
from tests.support.workers import own_worker

BATCH, WORK = 8, 0.02
PICTURE = b"\x89PNG\r\n\x1a\n" + os.urandom(1 << 20)
OWN = '''"""Repeats what it is asked."""
import time

HELLO = {
    "name": "echo",
    "takes": ["text", "image"],
    "gives": ["text", "image"],
    "mode": "interleaved",
    "batch": 8,
}


def load(args):
    return args["work"], {}


def answer(work, rows):
    time.sleep(work)
    for number, row in enumerate(rows):
        parts = row["messages"][-1]["parts"]
        yield number, [
            part if "text" in part else medium("image", part["mime"], read(part))
            for part in parts
        ]


'''
LINE = "# --- mmeval's part"
TASK = (
    "task: {name}\ndataset_path: {name}\nmetadata: {{version: 1.0}}\nmetric_list: "
    "[{{metric: wer}}]\n"
)


class Here:
    """The same in this process."""

    capabilities = Capabilities.of(["text"], ["text"], "single")
    identity: Mapping[str, Any] = {"backend": "here"}
    provenance: Mapping[str, Any] = {}
    max_batch_size = BATCH

    def generate_batch(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, Response]]:
        time.sleep(WORK)
        for position, request in enumerate(requests):
            yield position, answered([text_part(request.messages[-1].content.text)])

    async def close(self) -> None:
        pass


def figures(quick: bool) -> Iterator[Figure]:
    rows, pairs = (320, 1) if quick else (1600, 3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        worker = own_worker(folder)
        worker.write_text(OWN + LINE + worker.read_text().partition(LINE)[2])
        runs = _Runs(folder, worker)
        found = [
            (runs.rate(rows, 0), runs.rate(rows, 1), runs.rate(2 * rows, 2))
            for _ in range(pairs)
        ]
        print(
            "  here, one copy, two copies:",
            [[f"{rate:.0f}/s" for rate in one] for one in found],
            file=sys.stderr,
        )
        against = statistics.median(one[1] / one[0] for one in found)
        twice = [one[2] / one[1] for one in found]
        yield Figure(
            f"rows against the same class in this process, batches of {BATCH}",
            against,
            0.9,
            at_least=True,
        )
        yield Figure(
            "two copies against one", statistics.median(twice), 1.8, "x", at_least=True
        )
        yield from _costs(worker, rows)
        yield from _growth(worker, 1000 if quick else 10_000)


class _Runs:
    """Runs in one folder, each a process."""

    def __init__(self, folder: Path, worker: Path) -> None:
        self._folder, self._worker, self._runs = folder, worker, 0

    def rate(self, rows: int, copies: int) -> float:
        """Rows a second of so many copies; of none, of the class in the run's own
        process."""
        task, output = self._task(rows), self._folder / f"run{self._runs}"
        self._runs += 1
        args = {
            "command": f"{sys.executable} {self._worker}",
            "copies": copies,
            "args": {"work": WORK},
        }
        model = f"model='process', model_args={args!r}" if copies else "model=Here()"
        call = (
            f"evaluate({model}, tasks=[{str(task)!r}], output_path={str(output)!r}, "
            "predict_only=True)"
        )
        program = (
            "from mmeval import evaluate\nfrom benchmarks.runs.process_models import "
            f"Here\n{call}"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"mmeval ended with {done.returncode}: {done.stderr}")
        times = sorted(
            json.loads(line)["t"]
            for file in output.rglob("journal/*.jsonl")
            for line in file.open()
        )
        skip = 2 * BATCH
        return (len(times) - skip) / float(times[-1] - times[skip - 1])

    def _task(self, rows: int) -> Path:
        file = self._folder / f"rows{rows}.yaml"
        if not file.exists():
            file.write_text(TASK.format(name=file.stem))
            (self._folder / file.stem).mkdir()
            lines = (
                json.dumps(
                    {"id": str(row), "input": f"question {row}", "reference": "none"}
                )
                for row in range(rows)
            )
            (self._folder / file.stem / "test.jsonl").write_text("\n".join(lines))
        return file


def _started(worker: Path) -> ProcessBackend:
    backend = ProcessBackend(
        command=[sys.executable, str(worker)], copies=0, args={"work": 0}
    )
    backend.start()
    return backend


def _costs(worker: Path, rows: int) -> Iterator[Figure]:
    backend = _started(worker)
    text = [Request((message("user", f"question {row}"),)) for row in range(BATCH)]
    file = worker.with_name("picture.png")
    file.write_bytes(PICTURE)
    pictures = [
        Request((message("user", Media.from_path(file)),), wants=("image",))
        for _ in range(BATCH)
    ]
    for name, asked, goal in (
        ("text", text, 1.0),
        ("a picture of 1 MiB each way", pictures, 5.0),
    ):
        list(backend.generate_batch(asked))
        began = time.perf_counter()
        for _ in range(rows // BATCH):
            list(backend.generate_batch(asked))
        yield Figure(
            f"a row of {name}", 1000 * (time.perf_counter() - began) / rows, goal, " ms"
        )
    backend._end()


def _growth(worker: Path, rows: int) -> Iterator[Figure]:
    """What a tenth and all of so many rows with pictures leave in memory and on
    disk."""
    backend = _started(worker)
    pictures = [
        [
            Request(
                (message("user", Media.from_bytes(PICTURE[:4096] + b"%d" % row)),),
                wants=("image",),
            )
        ]
        * BATCH
        for row in range(16)
    ]
    sizes = []
    for count in (rows // 10, rows - rows // 10):
        for batch in range(count // BATCH):
            list(backend.generate_batch(pictures[batch % 16]))
        resident = Path("/proc/self/statm").read_text().split()[1]
        sizes.append(int(resident) * os.sysconf("SC_PAGE_SIZE") / 2**10)
    assert backend._program is not None
    folders = backend._program._folders
    left = sum(len(list(folder.path.iterdir())) for folder in folders)
    yield Figure(
        f"memory that {rows:,} rows with pictures add to a tenth of them",
        sizes[1] - sizes[0],
        1024,
        " KiB",
    )
    yield Figure("files that they leave in the folder of batches", left, 0)
    backend._end()
